"""The columns that an export reads."""

from dataclasses import dataclass

from rpte.table.spelling import DECIMAL, forms_of, is_boolean, plain_form, truth_form

Code = float | str  # a special code of a number: a number or a text


@dataclass(frozen=True, slots=True)
class NumberInput:
    """A column of numbers; `codes` are cells that are no measurements."""

    name: str
    codes: tuple[Code, ...] = ()

    @property
    def words(self) -> tuple[str, ...]:
        """The special codes that are texts."""
        return tuple(code for code in self.codes if isinstance(code, str))

    @property
    def numbers(self) -> tuple[float, ...]:
        """The special codes that are numbers."""
        return tuple(code for code in self.codes if not isinstance(code, str))


@dataclass(frozen=True, slots=True)
class CategoryInput:
    """A column of texts; `rpte.table.spelling` says which level a cell is."""

    name: str
    levels: tuple[str, ...]  # seen in training, without the one that stands for rare levels
    pooled: bool = False  # any other text counts as the pooled level; if not, it is unseen

    @property
    def words(self) -> tuple[str, ...]:
        """The texts that the input knows: its levels."""
        return self.levels

    @property
    def boolean(self) -> bool:
        """Whether the levels are those of a boolean."""
        return is_boolean(self.levels)

    @property
    def closed(self) -> bool:
        """Whether a number other than 1 and 0 is no cell of the column."""
        return self.boolean and not self.pooled

    @property
    def doubtful(self) -> tuple[str, ...]:
        """The levels that share their plain form; a cell is one of them to the letter only."""
        alike = (levels for levels in forms_of(self.levels).values() if len(levels) > 1)
        return tuple(level for levels in alike for level in levels)

    def form(self, level: str) -> str:
        """Return what a cell of a level becomes when it is read: the level itself if doubtful."""
        if level in self.doubtful:
            return level
        return (truth_form(level) if self.boolean else None) or plain_form(level)

    def forms(self, levels: tuple[Code, ...]) -> tuple[str, ...]:
        """Return what cells of some levels become when they are read, each once."""
        return tuple(dict.fromkeys(self.form(str(level)) for level in levels))

    def numeric(self) -> tuple[str, ...]:
        """Return the forms of levels that are numbers and not doubtful."""
        forms = map(self.form, (level for level in self.levels if level not in self.doubtful))
        return () if self.boolean else tuple(form for form in forms if DECIMAL.fullmatch(form))


Input = NumberInput | CategoryInput


def has_words(given: Input) -> bool:
    """Tell whether a number has special codes that are texts."""
    return isinstance(given, NumberInput) and bool(given.words)
