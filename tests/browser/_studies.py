"""Studies that the tests in a browser ask."""

from __future__ import annotations

_QUESTION = """
title = { en = "Pills at work", de = "Tabletten bei der Arbeit" }
languages = ["en", "de"]
[attributes.pills]
label = { en = "How often do you take pills?", de = "Wie oft nehmen Sie Tabletten?" }
values = ["never", "sometimes", "often"]
answers = { de = ["nie", "manchmal", "oft"] }
mechanism = "RandomizedResponse"
epsilon = 1.0
"""

SMALL = _QUESTION + '\n[collect]\naccess = "open"\n'
INVITED = _QUESTION + '\n[collect]\naccess = "invited"\n'
CLOSED = SMALL + "closes = 2020-01-01T00:00:00Z\n"
NOT_OPEN = SMALL + "opens = 2120-01-01T00:00:00Z\n"
OTHER = SMALL.replace("epsilon = 1.0", "epsilon = 0.5")

# Hardly hidden, less than well, and well.
WEAK = f"""{_QUESTION}
[attributes.income]
label = {{ en = "What do you earn?", de = "Was verdienen Sie?" }}
integers = [0, 1000]
mechanism = "Geometric"
epsilon = 0.05
[attributes.place]
label = {{ en = "Where do you live?", de = "Wo wohnen Sie?" }}
grid = {{ rows = 3, columns = 4 }}
mechanism = "PlanarGeometric"
epsilon = 1.0
[collect]
access = "open"
weak_protection = true
"""

# Every kind of control, with and without nonresponse.
WHOLE = """
title = { en = "Wellbeing at work", de = "Wohlbefinden bei der Arbeit" }
introduction = { en = "We ask once a year.\\n\\nIt takes two minutes.", de = "Wir fragen einmal im Jahr.\\n\\nEs dauert zwei Minuten." }
languages = ["en", "de"]
[collect]
access = "open"
people = 400
contact = "survey@example.org"
closes = 2120-05-31T18:00:00+02:00
[attributes.pills]
label = { en = "Have you taken pills to get through a shift?", de = "Haben Sie Tabletten genommen, um eine Schicht durchzustehen?" }
help = { en = "Painkillers for an illness do not count.", de = "Schmerzmittel bei einer Krankheit zählen nicht." }
values = ["no", "yes"]
answers = { de = ["nein", "ja"] }
mechanism = "RandomizedResponse"
epsilon = 1.0
[attributes.sleep]
label = { en = "How many hours did you sleep?", de = "Wie viele Stunden haben Sie geschlafen?" }
interval = { low = 0, high = 16, bins = 32 }
unit = "h"
mechanism = "UnaryEncoding"
epsilon = 1.0
[attributes.drinks]
label = { en = "How many drinks did you have?", de = "Wie viele Getränke hatten Sie?" }
integers = [0, 60]
mechanism = "SubsetSelection"
missing = "answer"
epsilon = 1.0
[attributes.place]
label = { en = "In which part of the town do you live?", de = "In welchem Teil der Stadt wohnen Sie?" }
grid = { rows = 3, columns = 4, side = 0.5 }
mechanism = "RandomizedResponse"
epsilon = 1.0
[attributes.rate]
label = { en = "How satisfied are you, from 1 to 5?", de = "Wie zufrieden sind Sie, von 1 bis 5?" }
integers = [1, 5]
mechanism = "UnaryEncoding"
missing = "answer"
epsilon = 1.0
[attributes.month]
label = { en = "In which month is your birthday?", de = "In welchem Monat haben Sie Geburtstag?" }
values = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
answers = { de = ["Jan", "Feb", "Mär", "Apr", "Mai", "Jun", "Jul", "Aug", "Sep", "Okt", "Nov", "Dez"] }
mechanism = "HadamardResponse"
missing = "answer"
epsilon = 1.0
[public.clinic]
label = { en = "In which hospital do you work?", de = "In welchem Krankenhaus arbeiten Sie?" }
values = ["North", "South"]
answers = { de = ["Nord", "Süd"] }
[public.visit]
label = { en = "When were you there last?", de = "Wann waren Sie zuletzt dort?" }
dates = "week"
"""

# Everybody is asked one of ten questions, drawn by chance.
DRAWN = """
title = { en = "Habits", de = "Gewohnheiten" }
languages = ["en", "de"]
[ask]
each = "one"
epsilon = 2.0
""" + "".join(
    f"""
[attributes.habit{i}]
label = {{ en = "How often do you do number {i}?", de = "Wie oft tun Sie Nummer {i}?" }}
values = ["never", "sometimes", "often"]
answers = {{ de = ["nie", "manchmal", "oft"] }}
missing = "answer"
"""
    for i in range(10)
)
DRAWN_OPEN = DRAWN + '\n[collect]\naccess = "open"\n'
DRAWN_INVITED = DRAWN + '\n[collect]\naccess = "invited"\n'
DRAWN_PAIRS = DRAWN_OPEN.replace('each = "one"', 'each = "pair"')
