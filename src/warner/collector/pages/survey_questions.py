"""The questions of a survey as native controls of HTML, by the kind of their domain.

Each question is a ``fieldset`` with the question as its ``legend``. ``survey.js`` reads the answer
by ``data-kind``: an index of a choice, a number, a cell, or a date. All messages stand in the page,
hidden until they are needed, so that the script has no texts of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from warner._core.html import Markup, text
from warner.collector.pages.words import Words
from warner.domains import Domain
from warner.studies.texts import Texts

MOST_RADIOS = 12  # more values are asked by a list that opens
SILENCE = "silence"  # the value of a control that stands for no answer


@dataclass(frozen=True)
class Question:
    """What is needed to ask one question in one language.

    Attributes:
        place: the prefix of the ids in the page, such as "q0".
        name: the attribute or the public column.
        domain: the values, without silence.
        silence: whether "no answer" is an answer.
        texts: the texts of the study.
        language: the language of the study's texts.
        words: those of the page.
        number: the line above the question.
    """

    place: str
    name: str
    domain: Domain
    silence: bool
    texts: Texts
    language: str
    words: Words
    number: Markup

    @property
    def label(self) -> str:
        """The text of the question."""
        return self.texts.question(self.name, self.language)

    @property
    def spec(self) -> dict[str, Any]:
        """The domain as JSON data."""
        return self.domain.spec()

    @property
    def help(self) -> str:
        """The hint below the question."""
        return self.texts.help(self.name, self.language)

    @property
    def unit(self) -> str:
        """The unit of a number."""
        return self.texts.unit(self.name)

    def html(self) -> Markup:
        """The question with its controls."""
        asked = self._asked()
        described = [f"{self.place}-help"] if self.help else []
        described.append(f"{self.place}-error")
        helped = Markup("")
        if self.help:
            lines = text(self.help).replace("\n", "<br>")
            helped = Markup(f'<p class="help" id="{self.place}-help">{lines}</p>\n')
        return Markup(
            f'<fieldset class="question" id="{self.place}" data-question="{text(self.name)}" '
            f'data-kind="{asked.kind}" aria-describedby="{" ".join(described)}">\n'
            f'<legend>{self.number}<span class="label">{text(self.label)}</span></legend>\n'
            f'{helped}<p class="error" id="{self.place}-error" hidden>{asked.error}</p>\n'
            f"{asked.controls}\n</fieldset>"
        )

    def _asked(self) -> _Asked:
        """The controls for the values of this question."""
        values = self._shown_values()
        if values is not None:
            few = len(values) + self.silence <= MOST_RADIOS
            return self._radios(values) if few else self._select(values)
        kind = self.spec["kind"]
        return {"grid": self._grid, "dates": self._date}.get(kind, self._number)()

    def _shown_values(self) -> Sequence[str] | None:
        """The texts of the values, where these are listed; None where they are numbers or cells."""
        spec = self.spec
        if spec["kind"] == "categorical":
            return self.texts.answers(self.name, self.language)[: self.domain.size]
        if spec["kind"] == "integers" and self.domain.size < MOST_RADIOS:
            unit = f"\N{NO-BREAK SPACE}{self.unit}" if self.unit else ""
            return [f"{value}{unit}" for value in range(spec["low"], spec["high"] + 1)]
        return None

    def _radios(self, values: Sequence[str]) -> _Asked:
        """One radio button for each value."""
        options = [(str(i), text(value)) for i, value in enumerate(values)]
        if self.silence:
            options.append((SILENCE, self.words("silence")))
        rows = [
            f'<label class="option" for="{self.place}-{i}"><input type="radio" '
            f'id="{self.place}-{i}" name="{self.place}" value="{value}" required> '
            f"<span>{shown}</span></label>"
            for i, (value, shown) in enumerate(options)
        ]
        controls = Markup('<div class="options">\n' + "\n".join(rows) + "\n</div>")
        return _Asked("choice", controls, self.words("error_choose"))

    def _select(self, values: Sequence[str]) -> _Asked:
        """A list that opens, for many values."""
        options = "\n".join(
            f'<option value="{i}">{text(value)}</option>' for i, value in enumerate(values)
        )
        if self.silence:
            silence = text(self.words.plain("silence"))
            options += f'\n<option value="{SILENCE}"{self.words.mark}>{silence}</option>'
        prompt = text(self.words.plain("select_prompt"))
        controls = Markup(
            f'<label class="field-label" for="{self.place}-0">{self.words("choose_one")}</label>\n'
            f'<select id="{self.place}-0" name="{self.place}" autocomplete="off" required>\n'
            f'<option value=""{self.words.mark}>{prompt}</option>\n{options}\n</select>'
        )
        return _Asked("choice", controls, self.words("error_choose"))

    def _number(self) -> _Asked:
        """A field for a number, with the limits of the domain."""
        spec = self.spec
        whole = spec["kind"] == "integers"
        shown = {key: self.words.decimal(spec[key]) for key in ("low", "high")}
        limits = (
            "" if spec.get("clip") else f' min="{_plain(spec["low"])}" max="{_plain(spec["high"])}"'
        )
        unit = (
            f' <span class="unit" id="{self.place}-unit">{text(self.unit)}</span>'
            if self.unit
            else ""
        )
        described = f' aria-describedby="{self.place}-unit"' if self.unit else ""
        required = "" if self.silence else " required"
        hint = self.words("number_range" if whole else "decimal_range", **shown)
        controls = Markup(
            f'<label class="field-label" for="{self.place}-0">{hint}</label>\n'
            f'<div class="number-field"><input type="number" id="{self.place}-0" '
            f'name="{self.place}" inputmode="{"numeric" if whole else "decimal"}" '
            f'step="{"1" if whole else "any"}"{limits} autocomplete="off"{described}{required}>'
            f"{unit}</div>\n{self._silence_box()}"
        )
        error = self.words("error_number" if whole else "error_decimal", **shown)
        return _Asked("number", controls, error)

    def _grid(self) -> _Asked:
        """Two lists that open: the row and the column of a cell, counted from 1."""
        spec = self.spec
        lists = "\n".join(
            f'<div><label class="field-label" for="{self.place}-{i}">'
            f"{self.words(f'grid_{axis}', count=spec[axis + 's'])}</label>\n"
            f'<select id="{self.place}-{i}" name="{self.place}-{axis}" autocomplete="off">\n'
            f'<option value="">\N{EN DASH}</option>\n'
            + "".join(f'<option value="{k}">{k + 1}</option>' for k in range(spec[axis + "s"]))
            + "\n</select></div>"
            for i, axis in enumerate(("row", "column"))
        )
        shown = text(self.words.plain("grid_cell", row="{row}", column="{column}"))
        controls = Markup(
            f'<div class="cell" data-shown="{shown}">\n{lists}\n</div>\n{self._silence_box()}'
        )
        return _Asked("grid", controls, self.words("error_grid"))

    def _date(self) -> _Asked:
        """A field for a date, of which only the day, the week or the month is sent."""
        unit = self.spec["unit"]
        hint = (
            self.words("number_answer")
            if unit == "day"
            else self.words("date_hint", unit=self.words.plain(f"unit_{unit}"))
        )
        controls = Markup(
            f'<label class="field-label" for="{self.place}-0">{hint}</label>\n'
            f'<input type="date" id="{self.place}-0" name="{self.place}" autocomplete="off" '
            "required>"
        )
        return _Asked("date", controls, self.words("error_date"))

    def _silence_box(self) -> Markup:
        """A box to tick instead of an answer, where silence is one."""
        if not self.silence:
            return Markup("")
        return Markup(
            f'<label class="option" for="{self.place}-silence"><input type="checkbox" '
            f'id="{self.place}-silence" name="{self.place}-silence" value="{SILENCE}"> '
            f"<span>{self.words('silence')}</span></label>"
        )


@dataclass(frozen=True)
class _Asked:
    """The controls of a question.

    Attributes:
        kind: how the script reads the answer.
        controls: the controls themselves.
        error: what is said when the answer is missing or out of range.
    """

    kind: str
    controls: Markup
    error: Markup


def _plain(number: float) -> str:
    """A number as HTML writes it."""
    return repr(number).removesuffix(".0")
