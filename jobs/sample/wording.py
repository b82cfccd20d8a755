"""Templates of the profiles: how jobs, skills, degrees and licences are said, and what is said around them.

`{x}` is one skill, `{xs}` a list of them, `{job}` an occupation's wording, `{org}` an invented employer.
"""

ORG_HEADS = (
    "Harrow", "Lindqvist", "Oakfield", "Meridian", "Castell", "Brightwater", "Norvik", "Ashdown", "Pellucid", "Tamar",
    "Greyfriars", "Kestrel", "Solano", "Vantage", "Umbra", "Falkner", "Ridgeway", "Delmar", "Ostrava", "Juniper",
)  # fmt: skip
ORG_TAILS = ("Ltd", "Group", "& Sons", "GmbH", "Services", "Partners", "Holdings", "Works", "Associates", "SA", "Co-op")

YEAR_WORDS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen",
)  # fmt: skip

HEADERS = {
    "summary": ("PROFILE", "Summary", "About me", "Professional summary", "Who I am"),
    "jobs": ("EXPERIENCE", "Work history", "Employment", "Career", "Positions held", "Professional experience"),
    "skills": ("SKILLS", "Key skills", "What I do", "Competences", "Core strengths", "Areas of expertise", "Abilities"),
    "degrees": ("EDUCATION", "Studies", "Academic background", "Qualifications and studies", "Education and training"),
    "permits": ("LICENCES", "Certificates", "Licences and certificates", "Credentials", "Accreditations", "Other"),
    "wishes": ("GOALS", "Next steps", "Ambitions", "Not yet, but soon", "Development plan"),
}

JOB_LINES = (
    "{Job}, {org} ({span})", "{span}: {job}, {org}", "{Job} | {org} | {span}", "{Job} at {org}, {span}",
    "{org} - {job} - {span}", "{Job} ({span})", "{span}  {Job}",
)  # fmt: skip
JOB_SENTENCES = (
    "I have worked as {a_job} for {span}.", "For {span} I was employed as {a_job} at {org}.",
    "My background: {span} as {a_job}.", "{Span} of my working life went into being {a_job}.",
    "At {org} I spent {span} as {a_job}.", "I bring {span} on the job as {a_job}.",
    "Before that came {span} as {a_job} with {org}.", "Employed by {org} as {a_job} for {span}.",
)  # fmt: skip
DATED_SENTENCES = (
    "From {start} to {end} I was {a_job} at {org}.", "I joined {org} as {a_job} in {start} and left in {end}.",
    "Between {start} and {end}: {a_job}.", "{Start} until {end}, {a_job} with {org}.",
)  # fmt: skip

DOING = (  # takes labels that begin with a verb
    "I {xs}.", "My tasks were to {xs}.", "I know how to {xs}.", "Colleagues count on me to {xs}.",
    "In my last role I had to {xs}.", "I can {xs}.", "It was on me to {xs}.", "I was hired to {xs}.",
)  # fmt: skip
HAVING = (
    "Strong points: {xs}.", "I am at home with {xs}.", "Day to day this meant {xs}.", "Experience covers {xs}.",
    "Good command of {xs}.", "I have dealt with {xs} for years.", "People come to me for {xs}.", "Skilled in {xs}.",
    "My work has involved {xs}.", "Among other things: {xs}.", "I am trained in {xs}.", "Responsible for {xs}.",
    "You will find me competent at {xs}.", "Regular duties included {xs}.", "Hands-on with {xs}.", "Also {xs}.",
)  # fmt: skip
KNOWING = (
    "I have a sound grasp of {xs}.", "Well read in {xs}.", "Solid knowledge of {xs}.", "I keep up with {xs}.",
    "Familiar territory: {xs}.", "I took courses on {xs}.", "Versed in {xs}.",
)  # fmt: skip
WISHING = (
    "I would like to learn about {xs}.", "No experience yet with {xs}, but keen.", "Next year I hope to take up {xs}.",
    "I have never done {xs} myself.", "Looking for training in {xs}.", "Still to learn: {xs}.",
)  # fmt: skip

DEGREE_LINES = (
    "{level} {field}, {year}", "{level} in {field}", "{year}: {level}, {field}", "{level} ({field}), class of {year}",
)  # fmt: skip
DEGREE_SENTENCES = (
    "I hold a {level} in {field}.", "My studies ended with a {level} ({field}) in {year}.",
    "Graduated in {year}: {level}, {field}.", "I earned my {level} in {field}.",
)  # fmt: skip
UNFINISHED = (
    "Currently studying towards a {level} in {field}.", "{level} {field}, in progress.",
    "{level} in {field}, left without graduating.", "Enrolled for a {level} ({field}), not finished yet.",
)  # fmt: skip
PERMIT_SENTENCES = ("I hold: {p}.", "Also {p}.", "Papers: {p}.", "Licensed and certified: {p}.", "{P}.")
LAPSED = ("{P} (expired).", "{P}, lapsed and not renewed.", "Formerly {p}, no longer valid.")

FILLERS = (
    "I enjoy working in a team.", "References on request.", "I am punctual and reliable.", "Open to relocation.",
    "My notice period is three months.", "In my spare time I hike and read crime novels.", "Father of two.",
    "I learn fast and stay calm under pressure.", "Available from the first of next month.", "I value clear words.",
    "The firm had 40 employees and two sites.", "We moved offices twice while I was there.", "I commute by bicycle.",
    "Looking for a place where I can grow.", "I speak my mind and listen well.", "Customers have always come first.",
    "The market was difficult in those years.", "My former boss will gladly speak to you.", "I prefer early shifts.",
    "Part time is possible, four days a week.", "I grew up in a small town by the sea.", "Cats, chess, and cold water.",
    "Teams of 5 to 12 people reported to the same desk as me.", "I was employee of the month in May.",
    "What drives me is seeing things finished.", "Fluent in two languages.", "Happy to travel up to 30% of the time.",
)  # fmt: skip
CONNECTORS = ("; ", ", ", " | ", " / ", " - ")
BULLETS = ("- ", "* ", "• ", "", "+ ", "> ")
