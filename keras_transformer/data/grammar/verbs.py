"""The verbs and places of the built-in grammar, and which things and places they go with.

The tables are written as in `lexicon`; a backslash continues a row on the next line.
"""

from __future__ import annotations

from dataclasses import dataclass

from keras_transformer.data.grammar.lexicon import Noun, names_in, nouns, rows


@dataclass(frozen=True, eq=False)
class Place:
    """Where people are: the Chinese goes after 在, the English has its preposition."""

    zh: str
    english: str


@dataclass(frozen=True, eq=False)
class Verb:
    """An action with its English forms, its sensible objects and the places where it is done."""

    zh: str
    base: str
    third: str
    participle: str
    past: str
    objects: tuple[Noun, ...] = ()
    places: tuple[Place, ...] = ()
    uses: frozenset[str] = frozenset()  # see ACTIONS


PLACES = {
    key: Place(zh, english)
    for key, zh, english in rows("""
    park       公园里   in_the_park
    kitchen    厨房里   in_the_kitchen
    library    图书馆   in_the_library
    home       家里     at_home
    school     学校     at_school
    hospital   医院     at_the_hospital
    office     办公室里 in_the_office
    garden     花园里   in_the_garden
    restaurant 餐馆里   in_the_restaurant
    market     市场上   at_the_market
    shop       商店里   in_the_shop
    classroom  教室里   in_the_classroom
    beach      海滩上   on_the_beach
    pool       游泳池里 in_the_pool
    """)
}
PLACE_LIST = tuple(PLACES.values())


def _verb(zh: str, forms: str, objects: str = "", places: str = "", uses: str = "") -> Verb:
    particle = ""
    if "+" in forms:  # listen+to: the particle follows every form
        forms, particle = forms.split("+")
        particle = " " + particle
    base, third, participle, past = (form + particle for form in forms.split("/"))
    return Verb(
        zh,
        base,
        third,
        participle,
        past,
        nouns(objects) if objects else (),
        tuple(PLACES[p] for p in places.split(",") if p),
        names_in(uses),
    )


# Uses: "now" takes the progressive, "daily" is done every day, "many" has several objects at once.
ACTIONS = tuple(
    _verb(*row)
    for row in rows("""
    吃 eat/eats/eating/ate food,bowlful \
        kitchen,restaurant,park,garden,school,office,home now,daily,many
    喝 drink/drinks/drinking/drank drink,soup \
        kitchen,restaurant,garden,office,home now,daily,many
    读 read/reads/reading/read book,newspaper,letter,story \
        library,park,classroom,garden,office,home now,daily
    写 write/writes/writing/wrote letter,story,book,song \
        library,classroom,office,garden,home now
    画 draw/draws/drawing/drew animal,elephant,plant,leaf,house,car,airplane,map,door,window \
        park,classroom,garden,home now,daily,many
    洗 wash/washes/washing/washed clothes,dish,fruit,tomato,potato,car,window,door \
        kitchen,garden,home now,many
    买 buy/buys/buying/bought food,clothes,pair,ware,tool,dish,ball,suitcase,bowlful,coffee,milk \
        market,shop now,many
    卖 sell/sells/selling/sold food,clothes,pair,ware,vehicle,furniture \
        market,shop now,many
    修 repair/repairs/repairing/repaired vehicle,device,furniture,door,window,toy,umbrella \
        garden,shop,home now,many
    用 use/uses/using/used device,dictionary,knife,pen,pencil,eraser,map \
        school,office,classroom,home now
    找 look/looks/looking/looked+for carry,pet,shoes \
        park,school,office,classroom,home,garden now
    看 watch/watches/watching/watched movie,bird,elephant,airplane - now
    听 listen/listens/listening/listened+to song,story \
        park,classroom,garden,home now,daily
    开 drive/drives/driving/drove car,bus,taxi - now
    骑 ride/rides/riding/rode horse,bicycle park,beach now
    喂 feed/feeds/feeding/fed animal,elephant garden,park now,many
    搬 move/moves/moving/moved furniture,box,suitcase,basket \
        school,office,classroom,home now,many
    做 make/makes/making/made cake,sandwich,toy,chair,skirt,soup \
        kitchen,home now,many
    找到 find/finds/finding/found carry,pet,shoes,leaf \
        park,school,office,classroom,garden,beach many
    看到 see/sees/seeing/saw animal,elephant,person,vehicle,plant,carry,house,university \
        park,school,garden,market,beach many
    """)
)
# Actions on people.
DEALINGS = tuple(
    _verb(*row)
    for row in rows("""
    帮助 help/helps/helping/helped person school,hospital,office,library,home
    等 wait/waits/waiting/waited+for person school,hospital,office,library,restaurant,park
    """)
)
# Actions without an object.
ACTIVITIES = tuple(
    _verb(*row)
    for row in rows("""
    睡觉 sleep/sleeps/sleeping/slept - garden,home,hospital,park,beach
    跑步 run/runs/running/ran - park,beach,school,garden
    游泳 swim/swims/swimming/swam - pool,park,school
    唱歌 sing/sings/singing/sang - \
        park,classroom,restaurant,garden,kitchen,home,beach
    跳舞 dance/dances/dancing/danced - park,classroom,garden,restaurant,home,beach
    工作 work/works/working/worked - \
        office,hospital,school,restaurant,library,market,shop,garden
    学习 study/studies/studying/studied - library,school,classroom,office,home,garden
    做饭 cook/cooks/cooking/cooked - kitchen,restaurant,school,home
    踢足球 play_football/plays_football/playing_football/played_football - \
        park,school,beach,garden
    弹钢琴 play_the_piano/plays_the_piano/playing_the_piano/played_the_piano - \
        home,school,restaurant,classroom
    """)
)
OPENING = tuple(
    _verb(*row)
    for row in rows("""
    打开 open/opens/opening/opened opening,box,suitcase,book,schoolbag,letter,umbrella
    关上 close/closes/closing/closed opening,box,suitcase,schoolbag
    """)
)
WEARING = tuple(
    _verb(*row)
    for row in rows("""
    穿着 wear/wears/wearing/wore shirt,sweater,coat,skirt,uniform,pair
    戴着 wear/wears/wearing/wore hat,scarf,watch
    """)
)
