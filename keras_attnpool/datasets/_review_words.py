"""Word lists and sentence patterns of `reviews`, the embedded diagnostic corpus.

Every list goes from common to rare: the generator draws with Zipf-like
weights. A list's order is part of the corpus; changing it changes every
review that a seed gives.

Patterns are strings of tokens. Words in capitals are slots that `reviews`
fills; everything else stands for itself. A leading `*` marks a token that
belongs to the rationale where the clause counts.
"""


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _lines(text: str) -> tuple[str, ...]:
    return tuple(line.strip() for line in text.strip().splitlines())


# Opinion adjectives, by value: +2, +1, 0, -1, -2.
ADJECTIVES: dict[int, tuple[str, ...]] = {
    2: _words("""
        wonderful excellent fantastic superb brilliant amazing outstanding perfect magnificent
        marvellous terrific exceptional stunning phenomenal incredible spectacular glorious sublime
        exquisite splendid flawless faultless sensational remarkable dazzling stellar divine
        heavenly unforgettable fabulous astonishing breathtaking extraordinary masterful
        unbeatable supreme
        peerless matchless immaculate impeccable majestic unrivalled enchanting
        spellbinding triumphant staggering magical exemplary awesome unsurpassed blissful
        luminous radiant virtuosic dreamlike ravishing resplendent mesmerising captivating
        thrilling rapturous gorgeous incomparable consummate superlative transcendent
        ideal grand miraculous legendary electrifying
    """),
    1: _words("""
        good nice pleasant decent solid lovely enjoyable fine agreeable friendly likeable neat
        tasteful satisfying reliable comfortable charming cheerful helpful thoughtful attractive
        appealing welcoming warm polished respectable worthy capable competent handy useful tidy
        clever smart fresh amusing engaging inviting cosy gentle pretty sensible sound genial
        commendable creditable dependable graceful gratifying harmonious honest
        accommodating courteous cordial considerate careful attentive obliging punctual efficient
        refreshing relaxing restful soothing snug stylish elegant tempting trusty valuable
        wholesome winsome bright bonny congenial convenient endearing fitting generous
        gracious hospitable imaginative inspired lively mellow merry palatable perky
        pleasing praiseworthy presentable rewarding savoury sprightly sturdy suitable sunny
        sympathetic uplifting vivid zesty
    """),
    0: _words("""
        average ordinary passable unremarkable standard middling typical usual acceptable tolerable
        adequate indifferent neutral fair conventional plain everyday customary moderate
        workaday nondescript routine regular generic commonplace normal uneventful medium
        expected mainstream predictable conservative unexceptional
    """),
    -1: _words("""
        bad poor dull disappointing mediocre bland weak boring tired messy slow unpleasant clumsy
        shabby stale careless awkward noisy cramped drab rude cold sloppy tedious lacklustre flat
        annoying grubby gloomy unfriendly unhelpful forgettable uninspired dated worn scruffy
        flimsy greasy tasteless tepid tatty tacky dreary lifeless muddled confusing overpriced
        unreliable uneven patchy faulty feeble fussy grumpy inconvenient irritating jaded limp
        monotonous musty neglected pedestrian repetitive rushed shaky shoddy shallow sluggish
        sour stiff stingy stuffy tiresome trite unappealing uncomfortable underwhelming unkempt
        untidy unwelcoming vague wearisome wobbly wonky amateurish brusque bumpy cheerless
        chaotic crude curt dingy dismissive draughty erratic faded frumpy grimy hollow inept
        inferior insipid insufficient joyless lumpy murky offhand overdone plodding
        questionable ragged scratchy soggy sullen surly threadbare
    """),
    -2: _words("""
        terrible awful horrible dreadful appalling atrocious disgusting abysmal disastrous hideous
        horrendous unbearable revolting vile unacceptable ghastly pathetic disgraceful miserable
        shocking woeful wretched catastrophic diabolical repulsive dire abominable deplorable
        despicable inexcusable intolerable lousy nightmarish outrageous rotten shameful sickening
        excruciating foul putrid execrable godawful hateful heinous hellish horrid horrific
        insufferable insulting inedible irredeemable lamentable laughable ludicrous monstrous
        nauseating obnoxious offensive painful pitiful repellent rank ruinous scandalous
        squalid stinking torturous toxic tragic unforgivable unspeakable unusable useless
        worthless contemptible calamitous cruel frightful grotesque grim odious
    """),
}

# Opinion verbs as (past, infinitive).
VERBS: dict[int, tuple[tuple[str, str], ...]] = {
    value: tuple((pair.split("/")[0], pair.split("/")[1]) for pair in text.split())
    for value, text in {
        2: """
            loved/love adored/adore treasured/treasure cherished/cherish worshipped/worship
            relished/relish savoured/savour idolised/idolise
        """,
        1: """
            liked/like enjoyed/enjoy appreciated/appreciate admired/admire praised/praise
            valued/value welcomed/welcome approved/approve respected/respect
            fancied/fancy favoured/favour commended/commend
        """,
        -1: """
            disliked/dislike regretted/regret resented/resent criticised/criticise
            questioned/question faulted/fault doubted/doubt distrusted/distrust mocked/mock
            lamented/lament bemoaned/bemoan
        """,
        -2: """
            hated/hate detested/detest loathed/loathe despised/despise abhorred/abhor
            dreaded/dread condemned/condemn deplored/deplore
        """,
    }.items()
}

# Opinion nouns that follow "a".
NOUNS: dict[int, tuple[str, ...]] = {
    2: _words("""
        triumph masterpiece revelation marvel sensation gem wonder miracle dream knockout
        showpiece jewel
    """),
    1: _words("""
        pleasure joy success treat delight comfort bonus plus hit winner relief
        boon highlight
    """),
    -1: _words("""
        letdown mess bore nuisance failure chore flop blunder muddle problem
        weakness flaw hassle drawback
    """),
    -2: _words("""
        disaster nightmare catastrophe disgrace travesty fiasco shambles horror abomination
        calamity debacle scandal
    """),
}

# Raise a mild word to 2.
INTENSIFIERS = _lines("""
    very
    really
    extremely
    so
    truly
    incredibly
    absolutely
    exceptionally
    thoroughly
    terribly
    remarkably
    awfully
    deeply
    hugely
    immensely
    utterly
    enormously
    particularly
    supremely
    wildly
    decidedly
    profoundly
""")

# Lower a strong word to 1.
DOWNTONERS = _lines("""
    slightly
    somewhat
    a bit
    a little
    fairly
    rather
    kind of
    mildly
    sort of
    almost
    moderately
    vaguely
    a touch
    borderline
    faintly
""")

# Turn the sign; the result has size 1 ...
WEAK_NEGATORS = _lines("""
    not
    hardly
    not very
    not really
    not exactly
    never
    far from
    scarcely
    not that
    not so
    barely
    not particularly
    not quite
    less than
    rarely
    seldom
""")

# ... or size 2.
STRONG_NEGATORS = _lines("""
    not at all
    anything but
    in no way
    by no means
    not remotely
    not even slightly
    not in the least
    not one bit
    absolutely not
    never ever
    nowhere near
    not the least bit
""")

# Clauses that assert an opinion. Slots: NOUN (what is judged), OP (an adjective with its
# modifiers), ADJ, VERB, INF, THING (a bare opinion word).
STATEMENTS = _lines("""
    the NOUN was OP
    the NOUN was OP
    the NOUN felt OP
    the NOUN seemed OP
    the NOUN turned out OP
    the NOUN proved OP
    the NOUN looked OP
    everything about the NOUN was OP
    the NOUN itself was OP
    the NOUN stayed OP throughout
    the whole NOUN felt OP
    the NOUN was OP from start to finish
    the NOUN remained OP
""")
OWN_STATEMENTS = _lines("""
    we found the NOUN OP
    i thought the NOUN was OP
    i found the NOUN OP
    to me the NOUN was OP
    i have to say the NOUN was OP
    i called the NOUN OP
    we considered the NOUN OP
    i would describe the NOUN as OP
""")
# Clauses without OP: "plain" keeps the word's value, "intense" raises a mild word to 2,
# "weak" and "strong" turn the sign, to size 1 and 2.
VERB_FORMS: dict[str, tuple[str, ...]] = {
    "plain": _lines("""
        i *VERB the NOUN
        we *VERB the NOUN
        we all *VERB the NOUN
        i myself *VERB the NOUN
    """),
    "intense": _lines("""
        i *really *VERB the NOUN
        we *truly *VERB the NOUN
        i *deeply *VERB the NOUN
        we *greatly *VERB the NOUN
    """),
    "weak": _lines("""
        i did *not *INF the NOUN
        we did *not *really *INF the NOUN
        i *never *VERB the NOUN
        we *hardly *VERB the NOUN
        i could *not *INF the NOUN
    """),
    "strong": _lines("""
        i did *not *INF the NOUN *at *all
        we did *not *remotely *INF the NOUN
        i *in *no *way *VERB the NOUN
    """),
}
THING_FORMS: dict[str, tuple[str, ...]] = {
    "plain": _lines("""
        the NOUN was A *THING
        the NOUN proved A *THING
        the NOUN was A *THING for all of us
    """),
    "intense": _lines("""
        the NOUN was A *real *THING
        the NOUN was A *complete *THING
        the NOUN was A *huge *THING
        the NOUN was A *total *THING
    """),
    "weak": _lines("""
        the NOUN was *no *THING
        the NOUN was *not A *THING
        the NOUN was *hardly A *THING
        the NOUN was *never A *THING
    """),
    "strong": _lines("""
        the NOUN was *anything *but A *THING
        the NOUN was *by *no *means A *THING
    """),
}
ABOUT_FORMS: dict[str, tuple[str, ...]] = {
    "plain": _lines("""
        there was something *ADJ about the NOUN
        we noticed something *ADJ in the NOUN
    """),
    "intense": _lines("""
        there was something *very *ADJ about the NOUN
        there was something *truly *ADJ about the NOUN
    """),
    "weak": _lines("""
        there was *little *ADJ about the NOUN
        we saw *little that was *ADJ in the NOUN
    """),
    "strong": _lines("""
        there was *nothing *ADJ about the NOUN
        we noticed *nothing *ADJ in the NOUN
        *nothing about the NOUN was *ADJ
        there was *not *a *single *ADJ thing about the NOUN
    """),
}

# Openings that leave an opinion counted; they look like those of a distractor.
OWN_OPENINGS = _lines("""
    overall
    this time
    today
    in the end
    honestly
    on this visit
    all in all
    this year
    on the day
    now
    for us
    from the first minute
    frankly
    at last
    to be fair
    on reflection
    since then
    these days
    in my opinion
    for me
    to our surprise
    as it happened
    again
""")

# FIRST and SECOND are clauses; what SECOND asserts counts double.
CONTRASTS = _lines("""
    FIRST *but SECOND
    FIRST , *but SECOND
    *although FIRST , SECOND
    FIRST , *yet SECOND
    *while FIRST , SECOND
    FIRST ; *however , SECOND
    *even *though FIRST , SECOND
    FIRST , *but *then SECOND
    *though FIRST , SECOND
    FIRST ; *nevertheless , SECOND
    FIRST ; *still , SECOND
    *whereas FIRST , SECOND
    *despite the fact that FIRST , SECOND
""")

# Sentences with an opinion that does not count. CLAUSE is a clause in the third person, ANY
# may also speak of "i" and "we".
DISTRACTORS: dict[str, tuple[str, ...]] = {
    "other place": _lines("""
        at the PLACE OTHERWHERE the NOUN was OP
        the NOUN at the PLACE OTHERWHERE was OP
        the NOUN of the other PLACE was OP
        OTHERWHERE the NOUN was OP
        compare the PLACE OTHERWHERE , where CLAUSE
        CLAUSE in the PLACE OTHERWHERE
        the NOUN was OP in the PLACE OTHERWHERE
        in a different PLACE CLAUSE
        the PLACE OTHERWHERE is known because CLAUSE there
    """),
    "other people": _lines("""
        my PERSON SAID that CLAUSE
        my PERSON VERB the NOUN
        our PERSON found the NOUN OP
        to my PERSON the NOUN was OP
        CLAUSE , my PERSON SAID
        the NOUN was OP , our PERSON SAID
        a PERSON at the next table SAID that CLAUSE
        my PERSON called the NOUN OP
        some guests VERB the NOUN
    """),
    "earlier visit": _lines("""
        PAST ANY
        PAST CLAUSE
        PAST , ANY
        ANY PAST
        the NOUN was OP PAST
        the NOUN used to be OP
        once upon a time CLAUSE
        under the former owners CLAUSE
    """),
    "hearsay": _lines("""
        HEARSAY that CLAUSE
        HEARSAY CLAUSE
        the ADVERT promised that the NOUN would be OP
        the ADVERT described the NOUN as OP
        CLAUSE , according to the ADVERT
        if you believe the ADVERT , CLAUSE
        the NOUN was OP , or so the ADVERT claimed
        the NOUN is OP by reputation
    """),
    "hypothetical": _lines("""
        we had expected the NOUN to be OP
        i had hoped that the NOUN would be OP
        if the NOUN were OP , we would tell you
        i wish the NOUN had been OP
        the NOUN could have been OP on another day
        we had feared that the NOUN would be OP
        imagine that CLAUSE
        suppose that CLAUSE
        nobody can promise that the NOUN will be OP
        the NOUN might be OP next year
        we wondered whether the NOUN would be OP
    """),
}

PAST = _lines("""
    last year
    years ago
    on our first visit
    back then
    last summer
    in the past
    last winter
    two years ago
    before the renovation
    last month
    on an earlier visit
    a decade ago
    in the old days
    last spring
    the previous time
    long ago
    on our honeymoon
    when i was a child
    last autumn
    before they moved
    in former times
    the year before
    previously
    formerly
""")
OTHERWHERE = _lines("""
    across the street
    next door
    around the corner
    down the road
    by the LANDMARK
    opposite the LANDMARK
    in the next town
    near the LANDMARK
    behind the LANDMARK
    on the other side of town
    at the LANDMARK
    two streets away
    in the neighbouring village
    up the hill
    over the bridge
    in the capital
    abroad
    elsewhere
""")
HEARSAY = _lines("""
    people say
    i read
    rumour has it
    everyone had told us
    some claim
    the papers wrote
    friends had warned us
    locals insist
    we were told
    strangers swear
    it is said
    critics argue
    legend has it
    others maintain
""")
SAID = _words("""
    said thought claimed insisted felt believed swore complained declared reckoned argued whispered
    announced remarked wrote muttered boasted
""")
ADVERT = _words("""
    advert brochure website leaflet guidebook poster magazine catalogue newspaper flyer blog booklet
    newsletter handbook billboard
""")
PEOPLE = _words("""
    friend wife husband sister brother mother father daughter son cousin aunt uncle neighbour
    colleague boss partner grandmother grandfather nephew niece flatmate teacher dentist landlord
    fiancee roommate stepson godmother supervisor accountant hairdresser plumber doctor lawyer
    classmate teammate trainer tutor client tenant
""")
LANDMARKS = _words("""
    station park church river market bridge harbour museum library school castle square beach
    airport hospital stadium canal tower cathedral lake university fountain gardens quay town
    mill lighthouse cemetery courthouse monastery observatory vineyard pier reservoir
    roundabout terminal warehouse
""")

# Domain -> (what it may be called, aspect -> nouns).
DOMAINS: dict[str, tuple[tuple[str, ...], dict[str, tuple[str, ...]]]] = {
    "restaurant": (
        _words("restaurant bistro diner cafe tavern pizzeria brasserie canteen steakhouse eatery"),
        {
            "food": _words("""
                food soup pasta dessert steak salad bread curry fish starter cake pizza stew sauce
                risotto lamb chicken pie omelette burger cheese pudding trout gravy broth
                lasagne dumpling sorbet
            """),
            "drink": _words("wine coffee beer tea cocktail lemonade cider punch espresso juice"),
            "service": _words("service waiter waitress chef barman host sommelier cashier"),
            "place": _words("terrace furniture music lighting kitchen patio decor table"),
            "price": _words("price menu bill portion lunch breakfast dinner buffet wait"),
        },
    ),
    "hotel": (
        _words("hotel hostel inn guesthouse resort motel lodge pension chalet campsite"),
        {
            "room": _words("""
                room bed bathroom shower mattress balcony view wardrobe pillow carpet heating
                blanket wallpaper sofa lamp minibar curtain
            """),
            "staff": _words("receptionist porter concierge manager cleaner housekeeper doorman"),
            "extras": _words("pool sauna spa garden lift parking lobby bar jacuzzi playground"),
            "stay": _words("location breakfast stay welcome checkout reservation rate deposit"),
        },
    ),
    "theatre": (
        _words("theatre cinema playhouse opera festival studio arena auditorium"),
        {
            "story": _words("""
                plot story script dialogue ending opening humour twist scene libretto finale
                prologue premise sequel subplot monologue
            """),
            "cast": _words("""
                acting lead cast heroine villain choir soprano tenor narrator director conductor
                orchestra understudy pianist
            """),
            "stage": _words("""
                set costume soundtrack score camera sound staging choreography makeup editing
                scenery lighting backdrop
            """),
            "evening": _words("seat interval foyer ticket programme queue cloakroom acoustics"),
        },
    ),
    "shop": (
        _words("shop store boutique outlet market dealer supermarket showroom warehouse kiosk"),
        {
            "device": _words("""
                phone laptop battery screen keyboard camera printer speaker kettle vacuum toaster
                charger cable tablet radio mixer drill headset monitor router watch
            """),
            "clothes": _words("""
                jacket coat sweater scarf dress shirt suit boot sandal glove hat zip lining
                fabric collar belt
            """),
            "service": _words(
                "delivery packaging warranty refund helpline assistant salesman repair"
            ),
            "value": _words("offer discount quality choice range manual design finish build"),
        },
    ),
    "trip": (
        _words("tour cruise excursion voyage safari ferry railway airline coach expedition"),
        {
            "ride": _words("""
                flight train bus boat ride cabin seat deck carriage crossing departure landing
                transfer engine berth
            """),
            "crew": _words("guide driver captain pilot crew steward stewardess skipper courier"),
            "sights": _words("""
                scenery landscape valley waterfall coast village island hike sunset canyon glacier
                forest temple ruin bay trail cave
            """),
            "plan": _words("itinerary schedule pace picnic commentary map organisation booking"),
        },
    ),
    "course": (
        _words("school gym academy club college workshop institute centre"),
        {
            "lesson": _words("""
                lesson lecture course exercise homework syllabus textbook seminar practice exam
                tutorial training handout worksheet curriculum video
            """),
            "teacher": _words("instructor lecturer coach professor mentor assistant examiner"),
            "building": _words("classroom equipment locker hall treadmill desk gymnasium"),
            "terms": _words("fee timetable certificate contract membership enrolment feedback"),
        },
    ),
}

# Sentences without an opinion. They reuse the words of the other patterns (not, very, but,
# last year, my sister ...), so that none of these alone gives anything away.
FILLERS = _lines("""
    we arrived on DAY DAYTIME
    my PERSON came along
    the PLACE is near the LANDMARK
    we did not book ahead
    i OBTAINED a OBJECT near the LANDMARK
    it was our ORDINAL visit
    the PLACE opened PAST
    we VERBED the OBJECT and left
    my PERSON and my PERSON live near the LANDMARK
    it rained all DAYTIME
    PAST we lived near the LANDMARK
    we were ORDINAL in line
    the PLACE lies OTHERWHERE
    i was not alone , my PERSON drove
    we were very early , but the LANDMARK was open
    the NOUN comes after the NOUN
    although it was DAY , the LANDMARK was closed
    i never carry a OBJECT
    my PERSON works for the PLACE OTHERWHERE
    COLOUR is the colour of the OBJECT
    we stayed for COUNT hours
    i heard about the PLACE from my PERSON
    the ADVERT lists the NOUN and the NOUN
    people say that the LANDMARK is COUNT hundred years old
    nothing else was open on DAY
    we went on to the LANDMARK
    i am writing this on DAY DAYTIME
    they have COUNT of each OBJECT
    my PERSON was not there
    we did not see the LANDMARK
    our PERSON VERBED the OBJECT
    the OBJECT lay beside the COLOUR OBJECT
    i had a OBJECT and a OBJECT with me
    the walk to the LANDMARK takes COUNT minutes
    there is a COLOUR OBJECT by the door
    if you come by car , turn at the LANDMARK
    we hardly ever go out on DAY
    while my PERSON parked , i VERBED the OBJECT
    on DAY they close in the DAYTIME
    we had the NOUN first , then the NOUN
    the OBJECT is really COLOUR
    we used to live OTHERWHERE
    my PERSON SAID that the LANDMARK opens on DAY
    i asked about the NOUN
    they changed the NOUN PAST
    we had hoped to see the LANDMARK
    this was in MONTH
    they also sell the OBJECT in COLOUR
    PAST my PERSON VERBED the OBJECT here
    it was a very COLOUR DAYTIME in MONTH
""")
DAYS = _words("monday tuesday wednesday thursday friday saturday sunday")
MONTHS = _words("""
    may june july august january march april december october november september february
""")
DAYTIMES = _words("evening morning afternoon night")
COUNTS = _words("""
    two three four five six ten seven eight twelve nine twenty thirty eleven fifteen forty fifty
    sixty fourteen thirteen
""")
ORDINALS = _words("second first third fourth fifth sixth tenth seventh eighth ninth")
COLOURS = _words("""
    red blue green white black brown grey yellow orange purple pink silver golden beige turquoise
    crimson violet scarlet maroon
""")
OBTAINED = _words("bought left dropped saw borrowed lost carried ordered rented needed hid packed")
VERBED = _words("""
    opened moved carried painted checked washed closed counted measured picked signed packed
    photographed sketched unfolded weighed stamped labelled wrapped
""")
OBJECTS = _words("""
    bag umbrella book key bottle letter coin box bicycle ticket basket newspaper suitcase candle
    notebook pencil ladder bucket blanket mirror clock vase spoon hammer rope envelope stamp
    postcard helmet compass lantern saucer napkin purse wallet parcel crate barrel trolley
    broom stool cushion thermos jug ribbon button needle magnet whistle kite puzzle marble
    violin trumpet banjo telescope calendar ruler stapler folder binder eraser jigsaw
    dartboard racket shuttle skateboard scooter tricycle wheelbarrow rake shovel
    flowerpot hedge gate fence mailbox doormat
""")
