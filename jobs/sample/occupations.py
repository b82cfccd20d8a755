# ruff: noqa: E501 - a row is a line
"""Occupations of the sample: the catalog's title, and the other words by which a profile tells the same work.

A curated list of the project's own. A profile never uses the title. `related` names occupations so near (broader,
narrower, overlapping) that years in one say nothing certain about the other: such pairs are *unknown*.
"""

from dataclasses import dataclass

_LINES = """
tax-accountant | tax accountant | tax adviser; tax preparer; fiscal accountant; corporate tax consultant | accountant
accountant | accountant | chartered bookkeeping professional; financial record keeper; ledger specialist | tax-accountant
auditor | auditor | external audit associate; audit senior; statutory accounts examiner |
payroll-clerk | payroll clerk | wages administrator; payroll officer; salary processing assistant |
financial-analyst | financial analyst | investment research associate; equity researcher; FP&A specialist |
actuary | actuary | actuarial analyst; insurance risk modeller; pensions mathematician |
loan-officer | loan officer | lending adviser; mortgage consultant; credit advisor |
bank-teller | bank teller | branch cashier; counter clerk in a bank; customer service cashier in banking |
insurance-broker | insurance broker | policy intermediary; insurance agent; cover placement specialist | underwriter
underwriter | underwriter | insurance risk assessor; policy acceptance specialist | insurance-broker
software-developer | software developer | programmer; application engineer; coder; software engineer | web-developer; embedded-engineer
web-developer | web developer | front-end engineer; website programmer; full-stack coder | software-developer
embedded-engineer | embedded systems engineer | firmware developer; microcontroller programmer | software-developer
database-administrator | database administrator | DBA; data store operator; SQL server custodian |
network-engineer | network engineer | LAN/WAN specialist; routing and switching technician; Cisco administrator |
system-administrator | system administrator | sysadmin; IT operations engineer; server administrator |
data-scientist | data scientist | machine learning specialist; predictive modeller; statistical learning engineer | data-analyst
data-analyst | data analyst | reporting analyst; BI specialist; insights analyst | data-scientist
security-analyst | information security analyst | cyber defence specialist; SOC analyst; infosec engineer |
helpdesk-technician | helpdesk technician | first-line IT support agent; desktop support specialist; service desk operative |
project-manager | project manager | delivery lead; programme coordinator; PMO lead |
product-manager | product manager | product owner; head of a product line |
mechanical-engineer | mechanical engineer | machine design engineer; mechanical design specialist |
civil-engineer | civil engineer | structural and roads engineer; infrastructure design engineer |
electrical-engineer | electrical engineer | power systems engineer; high-voltage design engineer |
chemical-engineer | chemical engineer | process plant engineer; chemical process designer |
architect | architect | building designer; designer of buildings; architectural practice partner |
surveyor | land surveyor | cadastral measurer; geomatics technician; boundary measurement specialist |
quantity-surveyor | quantity surveyor | construction cost consultant; building cost estimator |
electrician | electrician | electrical fitter; wiring installer; sparky |
plumber | plumber | pipe fitter; heating and water installer; sanitary installer |
carpenter | carpenter | joiner; timber framer; woodworker on building sites |
welder | welder | MIG/TIG operative; metal joiner; fabricator welding steel |
bricklayer | bricklayer | mason; brickwork tradesman; blocklayer |
painter-decorator | painter and decorator | house painter; wall coating tradesman; wallpaper hanger |
roofer | roofer | slater and tiler; roof covering installer |
crane-operator | crane operator | tower crane driver; lifting equipment driver |
forklift-driver | forklift driver | reach truck operator; lift truck operative | warehouse-worker
warehouse-worker | warehouse worker | order picker; stockroom operative; goods handler | forklift-driver
logistics-manager | logistics manager | head of distribution; supply chain lead; freight operations manager |
truck-driver | truck driver | HGV driver; lorry driver; long-haul trucker |
bus-driver | bus driver | coach driver; public transport driver |
taxi-driver | taxi driver | cab driver; private hire chauffeur |
train-driver | train driver | locomotive operator; railway engine driver |
airline-pilot | airline pilot | first officer on passenger jets; commercial flight captain |
flight-attendant | flight attendant | cabin crew member; air steward |
air-traffic-controller | air traffic controller | tower controller; en-route flight controller |
ship-captain | ship captain | master mariner; vessel master |
nurse | registered nurse | staff nurse; ward nurse; RN | midwife; nursing-assistant
nursing-assistant | nursing assistant | healthcare assistant; care aide on a ward; patient care helper | nurse; care-worker
midwife | midwife | birth attendant; maternity practitioner | nurse
physician | general practitioner | family doctor; primary care physician |
surgeon | surgeon | operating consultant; surgical registrar |
dentist | dentist | dental surgeon; dental practitioner |
dental-hygienist | dental hygienist | oral hygiene therapist; teeth cleaning clinician |
pharmacist | pharmacist | dispensing chemist; community chemist; hospital drug dispenser |
physiotherapist | physiotherapist | physical therapist; rehabilitation physio |
occupational-therapist | occupational therapist | OT practitioner; daily living rehabilitation specialist |
psychologist | clinical psychologist | CBT therapist; mental health clinician |
paramedic | paramedic | ambulance crew member; emergency medical technician |
radiographer | radiographer | X-ray technician; medical imaging technologist |
veterinarian | veterinarian | vet surgeon; animal doctor; small animal practitioner |
lab-technician | laboratory technician | bench assistant in a lab; laboratory analyst; lab assistant |
social-worker | social worker | child protection officer; family welfare caseworker |
care-worker | care worker | home carer; elderly support worker; residential carer | nursing-assistant
primary-teacher | primary school teacher | elementary educator; class teacher for ages 5 to 11 |
secondary-teacher | secondary school teacher | high school educator; teacher of teenagers |
kindergarten-teacher | kindergarten teacher | early years practitioner; nursery educator; preschool teacher |
university-lecturer | university lecturer | assistant professor; academic teaching undergraduates |
special-needs-teacher | special needs teacher | SEN educator; inclusion teacher |
librarian | librarian | library information officer; book collection custodian |
translator | translator | written language specialist; linguist translating documents | interpreter
interpreter | interpreter | simultaneous language mediator; conference linguist | translator
journalist | journalist | reporter; news writer; correspondent |
copywriter | copywriter | advertising text writer; brand content writer |
graphic-designer | graphic designer | visual communicator; layout artist; branding designer |
photographer | photographer | portrait and event camera artist; studio picture maker |
video-editor | video editor | film cutter; post-production editor |
interior-designer | interior designer | indoor space planner; room styling consultant |
fashion-designer | fashion designer | clothing creator; garment stylist |
marketing-manager | marketing manager | head of brand; campaign lead; promotion manager |
sales-representative | sales representative | account executive; field seller; business development rep |
retail-assistant | shop assistant | store clerk; sales floor associate; till operator |
store-manager | store manager | retail outlet supervisor; shop lead |
call-centre-agent | call centre agent | phone support rep; contact centre adviser; telephone operator |
hr-manager | human resources manager | head of people; personnel manager; HR business partner | recruiter
recruiter | recruiter | talent acquisition partner; headhunter; staffing consultant | hr-manager
office-manager | office manager | administration lead; workplace coordinator |
secretary | secretary | PA to directors; executive assistant; typist |
receptionist | receptionist | front desk host; greeter at the front office |
lawyer | lawyer | solicitor; attorney; legal counsel | paralegal
paralegal | paralegal | legal assistant; law clerk | lawyer
police-officer | police officer | constable; patrol officer; detective |
firefighter | firefighter | fire brigade crew; fire and rescue operative |
security-guard | security guard | site protection officer; door supervisor; watchman |
soldier | infantry soldier | rifleman; army private |
chef | chef | head cook; kitchen brigade lead; sous-chef | cook
cook | cook | canteen kitchen hand; line preparer in a kitchen; short-order meal preparer | chef
baker | baker | bread maker; pastry and dough craftsman |
butcher | butcher | meat cutter; slaughter and meat counter craftsman |
waiter | waiter | table server; restaurant floor staff |
bartender | bartender | mixologist; barman; barmaid |
hotel-manager | hotel manager | hospitality general manager; lodging operations head |
housekeeper | hotel housekeeper | room attendant; chambermaid |
cleaner | cleaner | janitor; office cleaning operative; sanitation worker |
hairdresser | hairdresser | barber; hair stylist; salon colourist |
beautician | beautician | cosmetologist; skin care therapist |
tour-guide | tour guide | sightseeing host; excursion leader |
travel-agent | travel agent | holiday booking consultant; trip planner |
event-planner | event planner | conference organiser; functions coordinator |
gardener | gardener | landscaper; groundskeeper; horticultural worker |
farmer | farmer | crop grower; agricultural holding operator; livestock keeper |
forester | forester | woodland manager; forestry ranger |
fisher | fisherman | trawler deckhand; deep-sea fishing crew |
miner | miner | underground face worker; pit worker |
machinist | CNC machinist | lathe and mill operator; machine tool setter |
assembler | assembly line worker | production line operative; factory assembler |
quality-inspector | quality inspector | QC examiner; product conformity checker |
car-mechanic | car mechanic | vehicle repairer; garage technician; auto technician |
aircraft-mechanic | aircraft mechanic | aviation maintenance engineer; airframe fitter |
hvac-technician | air conditioning technician | HVAC installer; refrigeration engineer |
tailor | tailor | made-to-measure clothing sewer; alterations specialist |
jeweller | jeweller | goldsmith; precious metal craftsman |
musician | orchestral musician | violinist in an ensemble; symphony player |
actor | actor | stage performer; theatre player |
fitness-instructor | fitness instructor | personal trainer; gym coach |
football-coach | football coach | soccer trainer; youth team trainer |
estate-agent | estate agent | property negotiator; realtor; home seller for clients |
purchasing-officer | purchasing officer | buyer; procurement specialist; sourcing agent |
biologist | biologist | life sciences researcher; field ecologist |
chemist | research chemist | synthetic chemistry scientist; formulation scientist |
geologist | geologist | rock and mineral scientist; earth scientist |
statistician | statistician | survey methodologist; biostatistics specialist |
meteorologist | meteorologist | weather forecaster; atmospheric scientist |
"""


@dataclass(frozen=True, kw_only=True)
class Occupation:
    """One occupation; `wordings` never hold the title."""

    occupation_id: str
    title: str
    wordings: tuple[str, ...]
    related: frozenset[str]


def _parse(line: str) -> Occupation:
    occupation_id, title, wordings, related = (cell.strip() for cell in line.split("|"))
    return Occupation(
        occupation_id=occupation_id,
        title=title,
        wordings=tuple(w.strip() for w in wordings.split(";")),
        related=frozenset(r.strip() for r in related.split(";") if r.strip()),
    )


OCCUPATIONS = {o.occupation_id: o for o in map(_parse, _LINES.strip().splitlines())}
"""Every occupation by its id."""
