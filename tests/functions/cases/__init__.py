"""What every function gives: one row per case, the name, the arguments, and the value that must come out."""

from tests.functions.cases.arrays import ARRAYS
from tests.functions.cases.conditional import CONDITIONAL
from tests.functions.cases.hashing import HASHING
from tests.functions.cases.json import JSON
from tests.functions.cases.math import MATH
from tests.functions.cases.operators import OPERATORS
from tests.functions.cases.other import OTHER
from tests.functions.cases.regex import REGEX
from tests.functions.cases.text import TEXT
from tests.functions.cases.time import TIME

CASES = (
    *OPERATORS,
    *CONDITIONAL,
    *MATH,
    *TEXT,
    *REGEX,
    *HASHING,
    *TIME,
    *OTHER,
    *JSON,
    *ARRAYS,
)
