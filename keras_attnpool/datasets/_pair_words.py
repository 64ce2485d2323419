"""Words of `sentence_pairs`, the embedded corpus of sentence pairs.

Every list of concepts goes from common to rare: they are drawn with Zipf-like weights. A list's
order is part of the corpus; changing it changes every pair that a seed gives. A name before a
colon is the more general concept of those behind it; concepts may have more words than one, see
`SYNONYMS`.
"""


def _lines(text: str) -> tuple[str, ...]:
    return tuple(line.strip() for line in text.strip().splitlines())


def _tree(text: str) -> dict[str, str]:
    """Concept -> the next more general one, from lines `general: special special ...`."""
    return {
        special: line.split(":")[0]
        for line in _lines(text)
        for special in line.split(":")[1].split()
    }


NOUNS = _tree("""
    adult: man woman
    child: boy girl
    person: child
    musician: guitarist drummer
    worker: farmer nurse
    animal: dog cat horse bird
    person: musician worker adult athlete artist
    dog: poodle terrier
    bird: parrot owl
    athlete: runner swimmer boxer gymnast skater surfer cyclist wrestler
    artist: painter dancer sculptor potter poet
    child: toddler pupil teenager
    animal: monkey bear rabbit goat sheep pig cow lion tiger wolf fox elephant
    worker: baker plumber gardener carpenter waiter mechanic tailor butcher fisherman
    musician: pianist violinist trumpeter cellist
    cat: kitten tabby
    horse: pony foal stallion
    dog: spaniel bulldog collie beagle
    bird: pigeon crow duck goose sparrow eagle
    car: taxi limousine
    vehicle: car truck bus van bicycle motorcycle tractor wagon
    toy: ball doll kite puzzle robot balloon
    container: box bottle bag bucket jar suitcase cup barrel
    thing: vehicle instrument toy container fruit vegetable tool furniture garment building plant
    thing: book newspaper letter poem map door gate window
    instrument: guitar piano violin flute drum trumpet harp cello
    fruit: apple banana pear peach melon mango
    vegetable: carrot potato onion cabbage pumpkin tomato
    tool: hammer saw shovel rake axe wrench broom
    bag: backpack handbag
    garment: shirt coat hat scarf jacket dress sweater
    building: house barn tower shed garage cottage church
    plant: tree flower bush
    tree: oak pine palm
    flower: rose tulip daisy sunflower
    book: novel cookbook textbook
    furniture: chair table desk bench sofa shelf wardrobe
    chair: armchair stool
""")
CLASSES = ("thing", "furniture")  # of these only the special cases are words
PLURALS = {"person": "people", "wolf": "wolves", "sheep": "sheep", "goose": "geese"}

# Continuous verbs. Concept -> more general concept.
VERBS = _tree("""
    moving: running walking crawling jumping swimming climbing skating
    running: jogging sprinting
    walking: strolling marching limping
    jumping: hopping leaping
    singing: humming yodelling
    dancing: waltzing
    laughing: giggling chuckling
    crying: sobbing weeping
    smiling: grinning
    frowning: scowling
    speaking: whispering shouting mumbling
    sleeping: napping dozing
    working: sewing knitting
    lifting: hoisting
    cleaning: washing scrubbing brushing
    cutting: slicing chopping
    eating: nibbling gobbling
    repairing: patching
    watching: inspecting
    holding: clutching
    touching: stroking patting tickling
""")
# Verbs of one participant, by who can do it.
INTRANSITIVE = {
    "person": """singing running sleeping laughing sitting dancing walking crying standing smiling
        swimming shouting waving jumping speaking working whispering frowning climbing kneeling
        jogging giggling humming strolling napping waiting skating lying clapping crawling grinning
        sobbing sprinting marching hopping yodelling waltzing chuckling limping weeping scowling
        mumbling leaping dozing sewing knitting juggling praying yawning coughing sneezing
        meditating moving fishing resting""".split(),
    "animal": """running sleeping sitting jumping walking drinking standing lying swimming resting
        moving waiting leaping napping dozing yawning trembling""".split(),
    "dog": "barking growling howling digging".split(),
    "bird": "chirping flying nesting".split(),
}
# Verbs of two: `doing done: agents: patients`.
TRANSITIVE = _lines("""
    pushing pushed: person: person animal container vehicle furniture
    pulling pulled: person: person animal container vehicle furniture
    hugging hugged: person: person animal
    touching touched: person: person animal
    stroking stroked: person: animal
    patting patted: person: person animal
    tickling tickled: person: person
    photographing photographed: person: person animal building plant
    watching watched: person animal: person animal vehicle
    inspecting inspected: person: person animal vehicle building
    ignoring ignored: person animal: person animal
    carrying carried: person: person container toy furniture
    lifting lifted: person: person container furniture tool
    hoisting hoisted: person: person container
    lowering lowered: person: person container furniture
    greeting greeted: person: person
    praising praised: person: person animal
    scolding scolded: person: person animal
    helping helped: person: person animal
    feeding fed: person: person animal
    guarding guarded: person animal: person animal building
    rescuing rescued: person: person animal
    calling called: person: person animal
    painting painted: person: person building furniture toy
    teaching taught: person: person
    brushing brushed: person: animal garment
    cleaning cleaned: person: vehicle tool container furniture garment
    washing washed: person: animal vehicle garment fruit vegetable
    scrubbing scrubbed: person: vehicle container furniture
    biting bitten: animal: animal person
    sniffing sniffed: animal: animal person container garment
    licking licked: animal: animal person
    eating eaten: person animal: fruit vegetable
    nibbling nibbled: person animal: fruit vegetable
    gobbling gobbled: person animal: fruit vegetable
    peeling peeled: person: fruit vegetable
    cutting cut: person: fruit vegetable plant
    slicing sliced: person: fruit vegetable
    chopping chopped: person: fruit vegetable
    playing played: person: instrument
    tuning tuned: person: instrument
    driving driven: person: vehicle
    parking parked: person: vehicle
    repairing repaired: person: vehicle instrument tool toy furniture
    patching patched: person: garment
    breaking broken: person: instrument tool toy furniture
    opening opened: person: container door gate window
    closing closed: person: container door gate window
    filling filled: person: container
    emptying emptied: person: container
    throwing thrown: person: toy
    catching caught: person: toy
    kicking kicked: person: toy container
    buying bought: person: vehicle instrument fruit garment tool book
    selling sold: person: vehicle instrument fruit garment tool book
    building built: person: building furniture
    demolishing demolished: person: building furniture
    folding folded: person: garment map letter newspaper
    unfolding unfolded: person: garment map letter newspaper
    reading read: person: book newspaper letter poem
    writing written: person: book letter poem
    planting planted: person: plant
    uprooting uprooted: person: plant
    watering watered: person: plant
    holding held: person: tool toy instrument container book
    clutching clutched: person: tool toy instrument container book
    dropping dropped: person: tool toy instrument container book
""")
# Verbs and relations that hold both ways.
SYMMETRIC = {
    "person": ("dancing with", "talking with", "wrestling with", "shaking hands with"),
    "being": ("next to", "far from", "as tall as", "as old as", "as heavy as"),
    "object": ("next to", "far from", "as heavy as"),
}
# Those that cannot hold both ways, with their converse.
ASYMMETRIC = {
    "person": (("following", "leading"), ("chasing", "fleeing from"), ("visiting", "hosting")),
    "being": (
        ("in front of", "behind"),
        ("taller than", "shorter than"),
        ("older than", "younger than"),
        ("heavier than", "lighter than"),
        ("faster than", "slower than"),
        ("to the left of", "to the right of"),
    ),
    "object": (
        ("in front of", "behind"),
        ("above", "below"),
        ("bigger than", "smaller than"),
        ("heavier than", "lighter than"),
        ("to the left of", "to the right of"),
    ),
}
# No two of a line at the same time, their special cases included.
EXCLUSIVE = _lines("""
    moving; sitting; standing; kneeling; lying
    running; walking; crawling; swimming; climbing
    sleeping; moving
    sleeping; speaking
    sleeping; singing
    laughing; crying
    smiling; frowning
    whispering; shouting
    pushing; pulling
    lifting; lowering
    praising; scolding
    watching; ignoring
    greeting; ignoring
    repairing; breaking
    opening; closing
    filling; emptying
    throwing; catching
    buying; selling
    building; demolishing
    folding; unfolding
    planting; uprooting
    holding; dropping
    next to; far from
    taller than; as tall as
    older than; as old as
    heavier than; as heavy as
""")

# Traits: concepts of one line exclude one another; `very < plain` is a special case.
TRAITS = {
    "age": "young old",
    "build": "tall short",
    "figure": "slim stout",
    "mood": "happy sad angry",
    "vigour": "tired lively",
    "means": "rich poor",
    "manners": "polite rude",
    "colour": "red blue green yellow black white purple pink grey crimson<red navy<blue",
    "coat": "black white brown grey spotted striped",
    "size": "big small huge<big tiny<small",
    "wetness": "wet dry",
    "temper": "tame wild",
    "dirt": "clean dirty",
    "material": "wooden metal plastic",
    "wear": "new ancient",
    "price": "cheap expensive",
    "weight": "heavy light",
    "taste": "sweet sour",
    "ripeness": "ripe rotten",
}
TRAITS_OF = {
    "person": "age build figure mood vigour means manners wetness",
    "animal": "age coat size wetness temper vigour",
    "thing": "colour size dirt wear price wetness",
    "container": "colour size dirt material weight price",
    "toy": "colour size material wear price",
    "furniture": "colour size material wear weight",
    "tool": "size wear weight dirt price",
    "fruit": "size taste ripeness",
    "vegetable": "size ripeness price",
    "plant": "size",
    "building": "size colour wear",
    "poem": "wear",
}

# Where: concept -> more general one; the phrases are in `PLACE_WORDS`.
PLACES = _tree("""
    indoors: kitchen office library gym hall bedroom classroom basement attic museum hotel
    outdoors: park garden field forest beach street yard meadow playground desert hill
""")
PLACE_WORDS = {
    "indoors": ("indoors", "inside a building"),
    "outdoors": ("outdoors", "in the open air"),
    "forest": ("in the forest", "in the woods"),
    "beach": ("on the beach", "at the seaside"),
    "street": ("on the street", "on the road"),
    "playground": ("on the playground",),
    "hill": ("on the hill",),
}
# How, by dimension; the values of one exclude each other.
MANNERS = {
    "speed": "quickly slowly",
    "loudness": "loudly quietly",
    "care": "carefully carelessly",
    "nerves": "calmly nervously",
    "grace": "gracefully clumsily",
}
# Verbs that a manner goes with, their special cases included.
MANNERS_OF = {
    "moving": "speed grace",
    "dancing": "grace speed",
    "singing": "loudness",
    "laughing": "loudness",
    "crying": "loudness",
    "speaking": "nerves speed",
    "barking": "loudness",
    "growling": "loudness",
    "chirping": "loudness",
    "waiting": "nerves",
    "sitting": "nerves",
    "standing": "nerves",
    "eating": "speed",
    "working": "speed care",
}
TRANSITIVE_MANNERS = "speed care nerves"

# Other words for a concept, with the same meaning here.
SYNONYMS = {
    words.split()[0]: tuple(words.split())
    for words in _lines("""
        child kid youngster
        man gentleman
        woman lady
        pupil schoolchild
        person human
        bicycle bike
        truck lorry
        sofa couch
        sweater jumper
        newspaper gazette
        coat overcoat
        broom besom
        rabbit bunny
        suitcase trunk
        bucket pail
        pig hog
        speaking talking
        sleeping slumbering
        shouting yelling
        mumbling muttering
        sobbing bawling
        jumping bounding
        strolling ambling
        sprinting dashing
        laughing cackling
        pulling dragging
        hugging embracing
        repairing fixing mending
        closing shutting
        buying purchasing
        building constructing
        rescuing saving
        helping assisting
        lifting raising
        cleaning tidying
        throwing tossing
        young youthful
        old elderly
        happy cheerful joyful
        sad unhappy gloomy
        angry furious
        tired weary
        lively energetic
        rich wealthy
        poor penniless
        slim slender
        stout plump
        polite courteous
        rude impolite
        big large
        small little
        huge enormous gigantic
        tiny minuscule
        clean spotless
        dirty filthy
        expensive costly
        cheap inexpensive
        wet damp
        ancient antique
        grey ashen
        purple violet
        quickly rapidly swiftly
        slowly unhurriedly
        loudly noisily
        quietly softly
        carefully cautiously
        carelessly recklessly
        calmly peacefully
        nervously anxiously
        gracefully elegantly
        clumsily awkwardly
    """)
}
# Participles of synonyms, for the passive.
PARTICIPLES = {
    "dragging": "dragged", "embracing": "embraced", "fixing": "fixed", "mending": "mended",
    "shutting": "shut", "purchasing": "purchased", "constructing": "constructed",
    "saving": "saved", "assisting": "assisted", "raising": "raised", "tidying": "tidied",
    "tossing": "tossed", "following": "followed", "leading": "led", "chasing": "chased",
    "visiting": "visited", "hosting": "hosted",
}  # fmt: skip
PHRASE_SYNONYMS = {
    "next to": ("next to", "beside"),
    "in front of": ("in front of", "ahead of"),
    "talking with": ("talking with", "chatting with"),
    "below": ("below", "under", "beneath"),
    "above": ("above", "over"),
    "bigger than": ("bigger than", "larger than"),
}

# Quantities of a group, with their wordings: the noun follows in the plural but for "every".
QUANTITIES = {
    "all": ("all of the", "all the", "all", "every"),
    "some": ("some", "some of the", "several", "several of the"),
    "no": ("no", "none of the"),
    "not all": ("not all of the", "not all", "not every"),
    "two": ("two",),
    "three": ("three",),
    "four": ("four",),
    "five": ("five",),
}
NUMBERS = ("two", "three", "four", "five")
JOINS = ("and", "while", "as")
