"""Words and sentence frames of `questions`, the embedded corpus of questions.

Every list of words goes from common to rare: they are drawn with Zipf-like weights. A list's
order is part of the corpus; changing it changes every question that a seed gives. A noun
stands in one list only, and fits any noun slot of any frame.
"""

NOUNS = {
    "person": """
    man woman girl doctor teacher boy nurse farmer king queen mayor lawyer painter captain
    writer singer waiter driver pilot baker actor actress student soldier judge priest poet
    butcher tailor gardener sailor dancer mother father sister brother uncle aunt daughter son
    cousin nephew niece grandmother grandfather neighbour friend stranger visitor tourist guest
    customer manager clerk secretary director president minister senator governor ambassador
    officer policeman detective sheriff inspector thief burglar robber pirate smuggler prisoner
    witness victim suspect professor scientist chemist biologist physicist astronomer historian
    geographer librarian journalist editor publisher photographer sculptor architect engineer
    mechanic plumber electrician carpenter mason blacksmith goldsmith locksmith potter weaver
    shepherd fisherman hunter miner lumberjack sweeper cleaner porter butler maid cook chef
    barber hairdresser dentist surgeon midwife pharmacist patient athlete runner swimmer boxer
    wrestler cyclist goalkeeper referee coach champion violinist pianist drummer guitarist
    composer conductor juggler acrobat clown magician emperor empress prince princess duke
    duchess baron knight squire monk nun bishop cardinal pope rabbi imam prophet pilgrim saint
    hermit beggar orphan widow widower bride bridegroom twin toddler infant teenager apprentice
    novice veteran lieutenant sergeant corporal colonel admiral cadet spy traitor rebel refugee
    emigrant settler nomad explorer astronaut diver lifeguard jockey umpire banker broker cashier
    accountant auditor treasurer landlord tenant lodger heir heiress philosopher linguist
    botanist zoologist geologist archaeologist biographer novelist playwright ventriloquist
    cartographer beekeeper glazier cobbler milliner upholsterer stonecutter ferryman gondolier
    """,
    "place": """
    city village country river street garden house school island mountain lake town park forest
    beach kitchen hospital church station hotel harbour valley bridge castle museum library
    restaurant theatre farm factory airport desert palace tower square market stadium prison
    temple cave hill coast bay port province district suburb region county continent capital
    kingdom colony border avenue alley lane highway crossroads tunnel canal waterfall creek pond
    swamp marsh meadow field orchard vineyard pasture prairie jungle woodland grove canyon gorge
    cliff ridge summit glacier volcano crater plateau peninsula cape lagoon reef gulf strait
    estuary delta riverbank shore dune oasis cottage mansion villa bungalow cabin barn stable
    shed garage attic cellar basement bedroom bathroom corridor balcony terrace courtyard hallway
    pantry nursery classroom laboratory office workshop warehouse shipyard dockyard quarry mine
    sawmill brewery bakery pharmacy supermarket boutique bookshop tavern inn hostel campsite
    casino cinema gallery zoo aquarium playground racecourse gymnasium observatory
    planetarium lighthouse windmill watermill fortress citadel dungeon cathedral chapel
    monastery abbey convent mosque synagogue shrine cemetery graveyard crypt embassy courthouse
    barracks battlefield trench outpost frontier ghetto slum hamlet metropolis seaport
    boulevard promenade esplanade arcade plaza roundabout underpass viaduct aqueduct footpath
    trailhead headland archipelago atoll fjord isthmus steppe savannah tundra moor heath ravine
    hinterland greenhouse conservatory granary dairy smithy tannery foundry refinery depot
    """,
    "time": """
    year day month week hour morning evening night century decade summer winter afternoon autumn
    weekend minute monday sunday season spring holiday birthday saturday friday january december
    wednesday tuesday thursday july april august june september october november
    february christmas easter midnight noon anniversary deadline moment era period epoch sunrise
    sunset dawn dusk lunchtime bedtime fortnight semester trimester millennium childhood youth
    adolescence infancy adulthood weekday workday payday midday midsummer midwinter nightfall
    daybreak twilight teatime playtime dinnertime mealtime springtime summertime wintertime
    daytime nighttime halloween thanksgiving ramadan sabbath lent advent yuletide
    solstice equinox jubilee centenary bicentenary honeymoon intermission halftime interval
    curfew reign renaissance antiquity prehistory wartime peacetime monsoon instant lifetime
    heyday midmorning midweek midterm noontime eventide doomsday harvest schoolday
    washday vacation
    """,
    "number": """
    price number age weight height length distance speed temperature cost amount size depth width
    total salary score population rent fee wage budget tax debt percentage discount profit income
    sum average quantity rate fare fine pension deposit balance pressure altitude volume frequency
    ratio radius diameter angle voltage dose quota maximum minimum limit percentile median
    payment bonus ransom toll tariff postage surcharge dividend revenue turnover expenditure
    overdraft capacity density mass thickness breadth circumference perimeter
    latitude longitude gradient fraction proportion remainder quotient multiple digit numeral
    exponent coefficient probability variance mileage wattage horsepower torque wavelength
    humidity rainfall snowfall acidity salinity brightness loudness tempo attendance turnout
    headcount majority tally tonnage acreage wingspan girth waistline birthrate
    dosage handicap valuation markup rebate stipend
    """,
    "thing": """
    table chair book car knife lamp clock bottle bag key coat hat shoe ring cup box ball door
    window bed mirror ladder hammer camera phone radio bicycle boat train piano guitar violin
    drum flag coin stone candle basket umbrella pen pencil brush bucket spoon fork plate bowl
    kettle pan oven fridge stove carpet curtain pillow blanket towel sofa shelf cupboard drawer
    wardrobe desk bench stool cradle toy doll puzzle kite balloon whistle trumpet flute harp
    cello saxophone accordion tambourine scarf glove jacket shirt dress skirt sweater belt boot
    sandal slipper sock apron necklace bracelet brooch earring crown helmet shield sword spear
    dagger bow arrow cannon pistol rifle bullet axe saw shovel rake broom mop wrench drill nail
    screw hook rope chain anchor net oar raft canoe yacht submarine tractor truck
    lorry van wagon cart sledge carriage tram motorcycle scooter helicopter rocket parachute
    telescope microscope compass thermometer barometer calculator typewriter printer computer
    keyboard television microphone loudspeaker headset lantern torch lighter matchbox ashtray
    pipe wallet purse suitcase backpack briefcase barrel crate jar mug teapot saucer tray
    corkscrew napkin tablecloth vase statue painting frame tapestry chandelier doorbell padlock
    hinge faucet bathtub sink comb razor toothbrush soap sponge perfume needle thimble 
    button zipper thread loom spindle anvil bellows chisel crowbar pulley wheelbarrow scarecrow
    beehive birdcage saddle stirrup horseshoe hourglass sundial abacus globe telegraph gramophone
    jukebox metronome xylophone bagpipe mandolin harpsichord tricycle unicycle hovercraft zeppelin
    """,
    "description": """
    reason meaning cause idea explanation purpose rule method answer opinion argument theory
    definition excuse motive solution plan goal aim effect result consequence function process
    procedure technique strategy principle belief claim conclusion advice suggestion proposal
    warning complaint objection lesson mistake rumour secret mystery clue hint riddle doubt
    intention decision promise threat request demand condition requirement exception restriction
    instruction recommendation guideline tactic remedy symptom diagnosis verdict judgement
    criticism apology justification interpretation summary notion concept philosophy ideology
    doctrine dogma creed custom tradition superstition myth moral proverb motto slogan hypothesis
    assumption premise theorem axiom corollary fallacy paradox dilemma contradiction
    misunderstanding analogy metaphor comparison distinction similarity pretext alibi accusation
    allegation confession denial rebuttal reproach insinuation prophecy prediction presumption
    reasoning logic insight ambition grievance quibble rationale caveat maxim truism
    """,
}

# The wh-phrases of one word or two that ask for a type without a noun.
ADVERBS = {
    "person": ("with whom", "for whom"),
    "place": ("where",),
    "time": ("when",),
    "number": ("how often", "how many times"),
    "thing": ("with what",),
    "description": ("why", "how"),
}

ADJECTIVES = """
    old new important famous strange real right wrong special other only usual unusual private
    best worst favourite forgotten unknown official correct true false obvious interesting
    remarkable curious ordinary peculiar typical perfect terrible wonderful awful questionable
    mysterious doubtful memorable suitable alleged supposed promised proposed legendary notorious
    unmentioned obscure dubious
"""

# Base form and past form; the past form is also the participle.
VERBS = (
    "mention mentioned",
    "describe described",
    "remember remembered",
    "discuss discussed",
    "name named",
    "note noted",
    "check checked",
    "record recorded",
    "praise praised",
    "confirm confirmed",
    "ignore ignored",
    "prefer preferred",
    "suggest suggested",
    "recall recalled",
    "question questioned",
    "consider considered",
    "accept accepted",
    "reject rejected",
    "overlook overlooked",
    "criticise criticised",
    "announce announced",
    "examine examined",
    "underline underlined",
    "omit omitted",
    "highlight highlighted",
    "dispute disputed",
    "defend defended",
    "recommend recommended",
    "analyse analysed",
    "misspell misspelled",
)

# Of clauses with a wh-phrase: of the asking one, and what can be done "about" something.
ASKING = """
    ask learn wonder explain guess hear inquire reveal say discover report admit whisper declare
"""
TALKING = """
    talked wrote argued complained spoke joked laughed worried sang lied boasted quarrelled
    gossiped lectured preached dreamed grumbled shouted muttered philosophised
"""

DOCUMENTS = """
    report letter list memo diary article ledger notebook brochure catalogue chronicle almanac
    pamphlet newsletter questionnaire
"""

JOINS = (
    "together with",
    "along with",
    "before",
    "after",
    "besides",
    "next to",
    "apart from",
    "instead of",
    "as well as",
    "right after",
)
PREPOSITIONS = "for with about after before under besides through without"
INSTEAD = ("instead of", "rather than")
WHICH = ("which", "what")

# Frames. The lines of one frame are rearrangements of the same words. Capital letters are slots:
#   X the answer's type; Y, Z, W the other candidates (nouns, in "clause" frames wh-phrases);
#   P, Q, N persons; A, B adjectives; D a document; S a verb, T one in the past; K a verb of
#   asking; V a verb of talking; J a join; G a preposition; I "instead of"; H "which" or "what".
# A star marks what decides.
FRAMES = {
    "head": (
        (
            "*H *X did the P S J the Y and the Z",
            "J the Y and the Z *H *X did the P S",
        ),
        (
            "while the P T the Y and the Z *H *X did the Q S",
            "*H *X did the P S while the Q T the Y and the Z",
        ),
        (
            "*H A *X did the P S in the D on the Y and the Z",
            "in the D on the A Y and the Z *H *X did the P S",
            "*H *X did the P S in the D on the Y and the A Z",
            "in the D on the Y and the Z *H A *X did the P S",
        ),
        (
            "the P T the Y and the A Z but *H *X did the Q S",
            "the P T the Y and the Z but *H A *X did the Q S",
            "*H *X did the P S but the A Q T the Y and the Z",
        ),
        (
            "*H *X did the P who T the Y S J the A Z",
            "J the A Y *H *X did the P who T the Z S",
            "J the Y *H A *X did the P who T the Z S",
        ),
        (
            "under *H *X was the Y T in the D",
            "in the D under *H *X was the Y T",
            "the Y in the D was T under *H *X",
        ),
        (
            "under *H *X was the Y T",
            "the Y was T under *H *X",
        ),
    ),
    "distance": (
        (
            "*H , apart from the Y and the Z , is the *X that the P T",
            "*H is , apart from the Y and the Z , the *X that the P T",
        ),
        (
            "*H is , according to the P who T the Y and the A Z , the *X",
            "*H is the A *X , according to the P , who T the Y and the Z",
        ),
        (
            "*H , if the P who T the A Y is right , is the *X",
            "*H is , if the P who T the Y is right , the A *X",
        ),
        (
            "*H Y *X did the P S J the Z",
            "J the Z *H Y *X did the P S",
            "*H *X did the P S J the Y Z",
            "J the Y Z *H *X did the P S",
        ),
        (
            "*H A and B *X did the P S J the Y Z",
            "*H *X did the P S J the A and B Y Z",
            "*H A and B Y *X did the P S J the Z",
            "J the A Y and B Z *H *X did the P S",
        ),
        (
            "in the D *what kind of Y *X did the P S",
            "*what kind of Y *X did the P S in the D",
            "*what kind of *X did the P S in the Y D",
        ),
        (
            "*H A Y *X that the P T did the Q S J the Z",
            "*H *X J the A Y Z that the P T did the Q S",
        ),
    ),
    "direction": (
        (
            "can you name the *X G *which the P T the Y and Z",
            "can you name G *which *X the P T the Y and the Z",
            "G *which *X can you name the Y and the Z the P T",
        ),
        (
            "does the P know the *X G *which the Y and Z were T",
            "does the P know G *which *X the Y and the Z were T",
        ),
        (
            "could you tell the P the *X *I the Y or the Z",
            "*I the Y or the Z could you tell the P the *X",
        ),
        (
            "may the P hear *not the Y or the Z *but the *X",
            "may the P hear the *X *but *not the Y or the Z",
        ),
        (
            "was it *not the Y *but the A *X that the P T",
            "was it the A *X *but *not the Y that the P T",
        ),
        (
            "what is there now that the P put the *X *in *place *of the Y and the Z",
            "what is there now that *in *place *of the Y and the Z the P put the *X",
        ),
    ),
    "order": (
        (
            "if the D lists the *X , the Y and the Z , what comes *first",
            "what comes *first , if the D lists the *X , the Y and the Z",
        ),
        (
            "if the D lists the Y , the *X and the Z , what comes *second",
            "what comes *second , if the D lists the Y , the *X and the Z",
        ),
        (
            "if the D lists the Y , the Z and the *X , what comes *last",
            "what comes *last , if the D lists the Y , the Z and the *X",
        ),
        (
            "if the D lists the *X , the Y , the Z and the W , what comes *first",
            "what comes *first , if the D lists the *X , the Y , the Z and the W",
        ),
        (
            "if the D lists the Y , the Z , the W and the *X , what comes *last",
            "what comes *last , if the D lists the Y , the Z , the W and the *X",
        ),
        (
            "if the P T the *X *before the Y , what came *first",
            "if *before the Y the P T the *X , what came *first",
            "what came *first , if the P T the *X *before the Y",
        ),
        (
            "if the P T the Y *before the *X , what came *last",
            "if *before the *X the P T the Y , what came *last",
            "what came *last , if the P T the Y *before the *X",
        ),
        (
            "if the P T the Y *after the *X , what came *first",
            "if *after the *X the P T the Y , what came *first",
            "what came *first , if the P T the Y *after the *X",
        ),
        (
            "if the P T the *X *after the Y , what came *last",
            "if *after the Y the P T the *X , what came *last",
            "what came *last , if the P T the *X *after the Y",
        ),
        (
            "what did the P have *before *swapping the *X *for the A Y",
            "*before *swapping the A *X *for the Y what did the P have",
        ),
        (
            "what did the P have *after *swapping the A Y *for the *X",
            "*after *swapping the Y *for the A *X what did the P have",
        ),
    ),
    "clause": (
        ("*X *did the P K Y the Q V",),
        ("*X *did the P K Y and Z the Q V",),
        (
            "it is clear Y the Q V but *X *did the P K",
            "*X *did the P K but it is clear Y the Q V",
        ),
        (
            "the P knows Y and Z the Q V but *X *did the A N K",
            "*X *did the P K but the A Q knows Y and Z the N V",
        ),
        (
            "after the P heard Y the Q V , *X *did the N K",
            "*X *did the P K , after the Q heard Y the N V",
        ),
        (
            "Y and Z the Q V may be known but *X *did the P K",
            "*X *did the P K but Y and Z the Q V may be known",
        ),
    ),
}
