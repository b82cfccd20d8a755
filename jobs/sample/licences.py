# ruff: noqa: E501 - a row is a line
"""Licences and certificates of the sample, with the words by which a profile tells them.

A curated list of the project's own; a profile never uses the title. A licence supports itself alone, and those that
it includes by law or by its own rules (`includes`), such as a lorry licence the car licence.
"""

from dataclasses import dataclass

_LINES = """
driving-a | driving licence category A | motorcycle permit; licensed to ride motorbikes |
driving-b | driving licence category B | car permit; licensed to drive passenger cars; full UK car licence |
driving-c | driving licence category C | heavy goods vehicle permit; licensed for lorries over 3.5 tonnes | driving-b
driving-d | driving licence category D | bus and coach permit; licensed to carry passengers by coach | driving-b
driving-ce | driving licence category CE | articulated lorry permit; licensed for lorry and trailer combinations | driving-c; driving-b
forklift | forklift truck licence | lift truck certificate; counterbalance and reach truck ticket |
crane | crane operator licence | tower crane ticket; certified for lifting operations by crane |
excavator | excavator operator ticket | digger card; 360 machine certificate |
private-pilot | private pilot licence | PPL(A); licensed to fly light aeroplanes for leisure |
commercial-pilot | commercial pilot licence | CPL(A); licensed to fly for hire | private-pilot
airline-transport-pilot | airline transport pilot licence | ATPL holder; frozen ATPL converted to full | commercial-pilot; private-pilot
drone-pilot | remote pilot certificate | drone flying permit; UAV operator authorisation |
cabin-crew | cabin crew attestation | air steward safety certificate; EASA attestation for stewards |
boat | boat master licence | inland vessel skipper certificate; skipper's ticket for inland waters |
yacht | yachtmaster certificate | offshore sailing skipper qualification; RYA skipper qualification |
train-driver-licence | train driver licence | locomotive driving authorisation; permit to drive rail vehicles |
taxi | taxi driver licence | hackney carriage permit; cab badge |
nurse-registration | registered nurse licence | on the nursing register; NMC pin holder |
medical-licence | medical practitioner licence | full GMC registration; licensed to practise as a doctor |
pharmacist-registration | pharmacist registration | on the register of pharmacists; GPhC membership |
dentist-registration | dentist registration | on the dental register; GDC number held |
vet-registration | veterinary surgeon registration | MRCVS; admitted to the vets' register |
physio-registration | physiotherapist registration | HCPC-registered physio; state-registered physical therapist |
paramedic-registration | paramedic registration | HCPC-registered ambulance professional; state-certified ambulance clinician |
social-worker-registration | social worker registration | Social Work England registrant; on the register for social work |
teaching | qualified teacher status | QTS; state teaching credential |
bar | admission to the bar | called as a barrister; admitted as an attorney-at-law |
notary | notary public commission | commissioned to notarise documents; appointed notary |
cpa | certified public accountant licence | CPA credential; state-licensed public accounting practitioner |
acca | chartered certified accountant membership | ACCA; FCCA |
cfa | chartered financial analyst charter | CFA; CFA charterholder |
actuary-fellow | fellowship of the institute of actuaries | FIA; fully qualified actuarial fellow |
insurance-agent | insurance agent licence | permit to sell insurance policies; state authorisation for insurance sales |
real-estate | real estate broker licence | property brokerage permit; realtor's board licence |
securities | securities representative licence | Series 7; FINRA registered rep |
pmp | project management professional certificate | PMP; PMI-certified in managing projects |
prince2 | PRINCE2 practitioner certificate | P2 Practitioner; AXELOS-accredited practitioner |
scrum | certified scrum master certificate | CSM; ScrumAlliance master badge |
itil | ITIL foundation certificate | IT service management foundation exam passed; AXELOS service management basics |
cissp | certified information systems security professional | CISSP; (ISC)2 security professional |
ceh | certified ethical hacker certificate | CEH; EC-Council penetration testing badge |
ccna | Cisco certified network associate | CCNA; Cisco associate routing badge |
aws-architect | AWS solutions architect certificate | Amazon cloud architecture badge; SAA-C03 |
azure-admin | Azure administrator certificate | AZ-104; Microsoft cloud administration badge |
oracle-dba | Oracle database administrator certificate | OCP DBA track; Oracle professional for databases |
electrician-licence | electrician licence | 18th Edition and ECS gold card; licensed electrical installer |
gas | gas fitter licence | Gas Safe registered; authorised for gas appliance work |
plumbing | plumber licence | master pipefitter's permit; licensed water installer |
refrigerant | refrigerant handling certificate | F-gas card; certified for handling fluorinated gases |
welding | welder qualification certificate | coded to EN ISO 9606; AWS D1.1 welding ticket |
scaffolding | scaffolder card | CISRS card; certified to erect scaffolding |
asbestos | asbestos removal licence | permit for stripping asbestos; licensed asbestos contractor |
blasting | explosives licence | shotfirer's certificate; blaster permit |
pesticide | pesticide application certificate | PA1 and PA6 spraying ticket; certified plant protection sprayer |
chainsaw | chainsaw operator certificate | NPTC felling ticket; certified for tree felling with powered saws |
first-aid | first aid certificate | trained emergency first responder at work; FAW card |
food-hygiene | food hygiene certificate | level 2 food safety; HACCP card |
alcohol | personal alcohol licence | permit to authorise liquor sales; APLH holder |
security-guard-licence | security guard licence | SIA badge; door supervisor's permit |
firearms | firearms certificate | permit to hold rifles; gun permit |
lifeguard | lifeguard qualification | NPLQ; pool rescue award |
diving | professional diver certificate | HSE commercial diving ticket; certified for underwater work |
fitness | fitness instructor certificate | REPs level 3; gym coaching award |
ski | ski instructor licence | ISIA stamp; certified to teach alpine skiing |
massage | massage therapist licence | licensed bodywork therapist; LMT |
hairdressing | hairdressing licence | NVQ level 3 in salon work; state-board cosmetology permit |
tour-guide-licence | tour guide licence | Blue Badge; accredited city guide |
sworn-translator | sworn translator accreditation | court-appointed for certified translations; state-authorised for sworn translations |
six-sigma | Six Sigma black belt certificate | SSBB; process improvement black belt |
radiation | radiation protection certificate | authorised to work with ionising radiation; RPS course passed |
"""


@dataclass(frozen=True, kw_only=True)
class Licence:
    """One licence; `wordings` never hold the title."""

    licence_id: str
    title: str
    wordings: tuple[str, ...]
    includes: frozenset[str]


def _parse(line: str) -> Licence:
    licence_id, title, wordings, includes = (cell.strip() for cell in line.split("|"))
    return Licence(
        licence_id=licence_id,
        title=title,
        wordings=tuple(w.strip() for w in wordings.split(";")),
        includes=frozenset(i.strip() for i in includes.split(";") if i.strip()),
    )


LICENCES = {x.licence_id: x for x in map(_parse, _LINES.strip().splitlines())}
"""Every licence by its id."""
