"""The nouns and adjectives of the built-in grammar, and which of them go together.

Words stand in tables, one a line, with columns parted by blanks; `_` is a blank inside a column,
`-` an empty column. Where a column names the things that a word suits, it holds tags of nouns
(`food`) or single nouns (`apple`), parted by commas.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, eq=False)
class Adjective:
    """A quality: `attribute` stands before a noun (漂亮的), `predicate` after 很 (漂亮)."""

    attribute: str
    predicate: str
    english: str
    comparative: str
    suits: frozenset[str] = frozenset()

    @property
    def zh(self) -> str:
        """The form that both uses share."""
        return self.predicate or self.attribute


@dataclass(frozen=True, eq=False)
class Noun:
    """A countable thing; a portion (一杯水, "a cup of water") counts its measure, not its noun."""

    zh: str
    measure: str
    singular: str
    plural: str
    tags: frozenset[str]
    portion: tuple[str, str] = ("", "")  # "cup of ", "cups of ": stands before the adjectives
    colours: tuple[Adjective, ...] = ()
    attributes: tuple[Adjective, ...] = ()  # adjectives that stand before it
    short_attributes: tuple[Adjective, ...] = ()  # those of them without 的
    predicates: tuple[Adjective, ...] = ()  # adjectives said of it


def rows(table: str) -> list[list[str]]:
    """The cells of a table of words."""
    return [
        ["" if cell == "-" else cell.replace("_", " ") for cell in line.split()]
        for line in table.strip().splitlines()
    ]


def names_in(cell: str) -> frozenset[str]:
    """The names in a cell, which commas part."""
    return frozenset(filter(None, cell.split(",")))


COLOURS = {
    en: Adjective(zh, "", en, "")
    for zh, en in rows("""
    红 red
    绿 green
    蓝 blue
    白 white
    黑 black
    黄 yellow
    紫 purple
    粉 pink
    灰 grey
    """)
}
_ALL_COLOURS = "red,green,blue,white,black,yellow"

# Before a noun, after 很, English, comparative, what it suits.
ADJECTIVES = tuple(
    Adjective(attribute, predicate, english, comparative, names_in(suits))
    for attribute, predicate, english, comparative, suits in rows("""
    大 大 big bigger sized,animal
    小 小 small smaller sized,animal
    新 新 new newer used,university
    旧 旧 old older used,house
    好 好 good - book,dictionary,story,movie,song,job
    长 长 long longer skirt,scarf,coat
    短 短 short shorter skirt,scarf,coat
    漂亮的 漂亮 beautiful more_beautiful clothes,pair,flower,house,bird,horse,cat,cup,university
    可爱的 可爱 cute - animal,toy,boy,girl,child
    聪明的 聪明 clever - dog,horse,mouse,elephant,person
    便宜的 便宜 cheap cheaper clothes,pair,device,furniture,bicycle,pen
    贵的 贵 expensive more_expensive clothes,pair,device,furniture,vehicle,pen
    有用的 有用 useful more_useful book,dictionary,map,device,knife,umbrella
    有意思的 有意思 interesting more_interesting book,story,movie,letter
    干净的 干净 clean - clothes,pair,dish
    脏 脏 dirty - clothes,pair,dish,vehicle
    重的 重 heavy heavier box,basket,suitcase,schoolbag,furniture
    空 - empty - container
    甜 甜 sweet sweeter fruit
    新鲜的 新鲜 fresh - food
    好吃的 好吃 delicious - food
    热 热 hot - tea,coffee,milk,water
    冷 冷 cold - milk,water
    年轻的 年轻 young younger job,man,woman
    诚实的 诚实 honest - person
    友好的 友好 friendly - person
    有名的 有名 famous - doctor,actor,writer,university
    - 高 tall taller person,tree
    - 快 fast faster car,bus,taxi,airplane,horse,bicycle
    """)
)
# Tags that a noun gets for having one of these.
SIZED = names_in("food,clothes,container,furniture,vehicle,plant,ball,house")
WARES = names_in("print,newspaper,device,umbrella,toy,flower")
USED = names_in("clothes,container,tool,device,furniture,vehicle,print")
STATES = tuple(  # said of people only, and only after 很
    Adjective("", zh, en, "")
    for zh, en in rows("""
    忙 busy
    累 tired
    高兴 happy
    饿 hungry
    """)
)


def _noun(zh: str, measure: str, forms: str, tags: str, colours: str, portion: str = "") -> Noun:
    singular, _, plural = forms.partition("/")
    known = names_in(tags) | {singular}
    if known & SIZED:
        known |= {"sized"}
    if known & WARES:
        known |= {"ware"}
    if known & USED:
        known |= {"used"}
    attributes = tuple(a for a in ADJECTIVES if a.attribute and a.suits & known)
    one, _, many = portion.partition("/")
    return Noun(
        zh,
        measure,
        singular,
        plural or singular + "s",
        known,
        (f"{one} of ", f"{many or one + 's'} of ") if portion else ("", ""),
        tuple(
            COLOURS[c]
            for c in (_ALL_COLOURS + colours[1:] if colours[:1] == "*" else colours).split(",")
            if c
        ),
        attributes,
        tuple(a for a in attributes if not a.attribute.endswith("的")),
        tuple(a for a in ADJECTIVES if a.predicate and a.suits & known),
    )


# Chinese, measure word, English singular[/plural], tags, colours ("*": the six common ones).
NOUNS = tuple(
    _noun(*row)
    for row in rows("""
    苹果   个 apple                     food,fruit         red,green
    橙子   个 orange                    food,fruit         -
    香蕉   根 banana                    food,fruit         yellow,green
    梨     个 pear                      food,fruit         yellow,green
    草莓   颗 strawberry/strawberries   food,fruit         -
    西红柿 个 tomato/tomatoes           food               red,green,yellow
    土豆   个 potato/potatoes           food               yellow
    洋葱   个 onion                     food               white,purple
    鸡蛋   个 egg                       food               white
    三明治 个 sandwich/sandwiches       food               -
    蛋糕   个 cake                      food               -
    猫     只 cat                       animal,pet         white,black,grey
    狗     条 dog                       animal,pet         white,black,yellow
    鸟     只 bird                      animal,pet         *
    马     匹 horse                     animal             white,black
    羊     只 sheep/sheep               animal             white,black
    兔子   只 rabbit                    animal,pet         white,black,grey
    鱼     条 fish/fish                 animal,pet         red,black,white
    老鼠   只 mouse/mice                animal             white,grey
    鹅     只 goose/geese               animal             white,grey
    大象   头 elephant                  beast              -
    衬衫   件 shirt                     clothes            *,purple,pink,grey
    毛衣   件 sweater                   clothes            *,purple,pink,grey
    外套   件 coat                      clothes            *,purple,pink,grey
    裙子   条 skirt                     clothes            *,purple,pink,grey
    围巾   条 scarf/scarves             clothes            *,purple,pink,grey
    制服   套 uniform                   clothes            blue,green,white,black
    帽子   顶 hat                       clothes            red,blue,white,black,yellow
    桌子   张 table                     furniture          white,black,blue
    椅子   把 chair                     furniture          *
    床     张 bed                       furniture          white,black
    沙发   张 sofa                      furniture          *,grey
    书架   个 bookshelf/bookshelves     furniture          white,black
    门     扇 door                      opening            *
    窗户   扇 window                    opening            -
    书     本 book                      print,carry        red,blue,black,green
    词典   本 dictionary/dictionaries   print,carry        red,blue,green
    报纸   份 newspaper                 paper,carry        -
    信     封 letter                    paper,carry        -
    地图   张 map                       print,carry        -
    故事   个 story/stories             tale               -
    歌     首 song                      tune               -
    电影   部 movie                     film               -
    笔     支 pen                       tool,carry         red,blue,black
    铅笔   支 pencil                    tool,carry         *
    橡皮   块 eraser                    tool,carry         white,blue
    杯子   个 cup                       dish,container,carry *,pink
    碗     个 bowl                      dish,container,carry white,blue,black,yellow
    盘子   个 plate                     dish,carry         white,blue,black,yellow
    刀     把 knife/knives              tool,carry         -
    盒子   个 box/boxes                 container,carry    *,pink
    篮子   个 basket                    container,carry    white,blue,yellow
    行李箱 个 suitcase                  container          *,grey
    书包   个 schoolbag                 container,carry    *,purple,pink
    雨伞   把 umbrella                  tool,carry         *,purple,pink
    钥匙   把 key                       carry              -
    玩具   个 toy                       carry              -
    球     个 ball                      carry              *
    手表   块 watch/watches             device,carry       white,black
    手机   部 phone                     device,carry       white,black,red
    电脑   台 computer                  device             white,black,grey
    花     朵 flower                    plant              red,blue,white,yellow,purple,pink
    树     棵 tree                      plant              -
    叶子   片 leaf/leaves               leaf               red,green,yellow
    汽车   辆 car                       vehicle            *,grey
    自行车 辆 bicycle                   vehicle            *
    公共汽车 辆 bus/buses               vehicle            red,green,blue,white,yellow
    出租车 辆 taxi                      vehicle            green,yellow,black
    飞机   架 airplane                  vehicle            white
    房子   栋 house                     building           white,red,yellow
    大学   所 university/universities   school             -
    老师   位 teacher                   person,job         -
    学生   个 student                   person,job         -
    医生   位 doctor                    person,job         -
    护士   位 nurse                     person,job         -
    警察   位 police_officer            person,job         -
    演员   位 actor                     person,job         -
    工程师 位 engineer                  person,job         -
    作家   位 writer                    person,job         -
    男孩   个 boy                       person             -
    女孩   个 girl                      person             -
    男人   个 man/men                   person             -
    女人   个 woman/women               person             -
    孩子   个 child/children            person             -
    水     杯 water/water               drink              -  cup
    茶     杯 tea/tea                   drink              -  cup
    咖啡   杯 coffee/coffee             drink              -  cup
    牛奶   杯 milk/milk                 drink              -  cup
    汤     碗 soup/soup                 bowlful            -  bowl
    米饭   碗 rice/rice                 bowlful            -  bowl
    面包   片 bread/bread               bowlful            -  slice
    鞋     双 shoes/shoes               pair               red,blue,white,black  pair
    """)
)


def nouns(names: str) -> tuple[Noun, ...]:
    """The nouns that have one of the comma-separated tags or names, in the table's order."""
    wanted = names_in(names)
    unknown = wanted - frozenset().union(*(noun.tags for noun in NOUNS))
    if unknown:
        raise ValueError(f"no noun of the grammar has the tags or names {sorted(unknown)}")
    return tuple(noun for noun in NOUNS if noun.tags & wanted)
