"""Features of dates and times: intervals as numbers, and parts of the calendar and the clock."""

from __future__ import annotations

import datetime
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.utils.validation import _check_feature_names_in

from tercet.core.catalog import method
from tercet.core.column_parsing import from_lists, is_frame
from tercet.core.estimator import NO_TARGET, Estimator, check_is_fitted
from tercet.core.fitted_checks import Labels
from tercet.core.input_errors import Explaining
from tercet.core.validation import check_array, target_for_callbacks, validate_data
from tercet.feature.cleaning.table_columns import column_index
from tercet.feature.transformation.datetime_parsing import NAT, column_moments, moment

DAY = 86_400_000_000  # microseconds
ELAPSED = {"D": DAY, "h": 3_600_000_000, "m": 60_000_000, "s": 1_000_000}
# The first value and the number of values of the parts that come round again.
CYCLES = {
    "quarter": (1, 4),
    "month": (1, 12),
    "week": (1, 53),
    "day": (1, 31),
    "day_of_year": (1, 366),
    "weekday": (0, 7),
    "hour": (0, 24),
    "minute": (0, 60),
    "second": (0, 60),
}
FLAGS = ("is_weekend", "is_holiday", "is_workday", "is_month_start", "is_month_end")
NAMES = ("elapsed", "year", *CYCLES, "part_of_day", *FLAGS)
DEFAULT = ("year", "month", "day", "weekday", "hour", "part_of_day", "is_weekend")


@method(
    zh="时间型特征",
    task="feature extraction",
    model="continuous: time since a reference; discrete: part of day, weekday, month, weekend, holiday",
    strategy="the calendar; only a reference date is learned, where it is the first of the training rows",
    texts=["Machine Learning in Depth ch. 3, 3.2.3"],
    peers=["feature_engine.datetime.DatetimeFeatures", "feature_engine.datetime.DatetimeSubtraction"],
)
class DateTimeFeatures(TransformerMixin, Estimator):
    """Dates and times as numbers: intervals, and parts of the calendar and the clock.

    Columns may hold datetime64 of NumPy, dates of pandas or polars, `datetime` objects, strings, or numbers of
    seconds since 1970. Of a time zone the local time counts. Missing dates give NaN. A column of durations
    (timedelta64) gives one feature, its length.

    Parameters
    ----------
    features : tuple, optional
        Some of "elapsed" (since the reference), "year", "quarter", "month", "week", "day", "day_of_year", "weekday"
        (0 is Monday), "hour", "minute", "second", "part_of_day", "is_weekend", "is_holiday", "is_workday",
        "is_month_start" and "is_month_end". By default year, month, day, weekday, hour, part of day and weekend,
        with "elapsed" where there is a reference and "is_holiday" where there are holidays.
    reference : date or "first", optional
        The date that "elapsed" counts from; "first" is the first of each column's training rows.
    reference_column : str or int, optional
        The column that "elapsed" of the other columns counts from, by name or place: the duration between the two.
    elapsed_unit : {"D", "h", "m", "s"}, default="D"
        Unit of "elapsed" and of durations: days, hours, minutes or seconds.
    encoding : {"integer", "cyclic"}, default="integer"
        Parts that come round again (month, weekday, hour ...) as whole numbers, or as sine and cosine of their
        place on a circle, on which December is beside January.
    holidays : list of dates, calendar or callable, optional
        Days off: dates, an object that tells whether a `datetime.date` is in it (as those of the package holidays
        do), or a function of a `datetime.date`.
    weekend : tuple, default=(5, 6)
        Days of the week that are weekend.
    day_parts : tuple, default=(6, 12, 18)
        Hours at which a new part of the day begins: night 0, morning 1, afternoon 2, evening 3.
    unit : {"s", "ms", "us", "ns", "D"}, default="s"
        What columns of numbers count since 1970.
    format : str, optional
        How strings are written, as in "%d.%m.%Y"; by default ISO 8601 and year, month, day in other common forms.

    Attributes
    ----------
    reference_ : array of shape (n_features,)
        The reference of each column, in microseconds since 1970.
    is_duration_ : array of shape (n_features,)
        1 for columns of durations.
    holidays_ : array of int or None
        The holidays in days since 1970, where they are a list of dates.

    Examples
    --------
    >>> X = np.array([["2024-02-10 09:30"], ["2024-02-12 20:00"]])
    >>> model = DateTimeFeatures(
    ...     ("weekday", "part_of_day", "is_weekend", "is_holiday"), holidays=["2024-02-12"]
    ... )
    >>> model.fit_transform(X)
    array([[5., 1., 1., 0.],
           [0., 3., 0., 1.]])
    >>> model.get_feature_names_out().tolist()
    ['x0_weekday', 'x0_part_of_day', 'x0_is_weekend', 'x0_is_holiday']
    """

    def __init__(
        self,
        features: tuple | list | None = None,
        *,
        reference: Any = None,
        reference_column: str | int | None = None,
        elapsed_unit: Literal["D", "h", "m", "s"] = "D",
        encoding: Literal["integer", "cyclic"] = "integer",
        holidays: Any = None,
        weekend: tuple | list = (5, 6),
        day_parts: tuple | list = (6, 12, 18),
        unit: Literal["s", "ms", "us", "ns", "D"] = "s",
        format: str | None = None,
    ) -> None:
        self.features = features
        self.reference = reference
        self.reference_column = reference_column
        self.elapsed_unit = elapsed_unit
        self.encoding = encoding
        self.holidays = holidays
        self.weekend = weekend
        self.day_parts = day_parts
        self.unit = unit
        self.format = format

    sparse_input = False
    missing_input = True
    encodes_rows = True
    fitted_shapes = {
        "reference_": Labels("features"),
        "is_duration_": Labels("features"),
        "holidays_": Labels("days* | None"),
    }
    reference_: np.ndarray
    is_duration_: np.ndarray
    holidays_: np.ndarray | None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Look which columns are dates, and for the reference.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            Dates and times.
        y : ignored
            There for pipelines; callbacks may score by it.

        Returns
        -------
        self
        """
        return self._learn(X, y)

    def _check(self, X: Any, y: Any = NO_TARGET, *, reset: bool = True) -> Any:
        """Microseconds since 1970 of shape (n_samples, n_features); of durations their lengths."""
        if is_frame(X):
            validate_data(self, X, reset=reset, skip_check_array=True)
            check_array(np.zeros(X.shape), estimator=self)
        else:
            if isinstance(X, list | tuple):
                with Explaining(X=X):
                    X = from_lists(X)
            X = validate_data(self, X, dtype=None, ensure_all_finite=False, reset=reset)
        names = getattr(self, "feature_names_in_", range(X.shape[1]))
        owner = type(self).__name__
        parts = [column_moments(X, j, names[j], self.unit, self.format, owner) for j in range(X.shape[1])]
        spans = np.array([span for _, span in parts], dtype=np.int8)
        if reset:
            self.is_duration_ = spans
        elif (wrong := np.flatnonzero(spans != self.is_duration_)).size:
            held = "durations" if self.is_duration_[wrong[0]] else "dates"
            raise ValueError(
                f"{owner}: column {names[wrong[0]]!r} of X held {held} when the model was fitted."
            )
        table = np.column_stack([values for values, _ in parts])
        return table if y is NO_TARGET else (table, target_for_callbacks(y, len(table)))

    def _fit(self, X: np.ndarray, y: Any, sample_weight: Any) -> None:
        self._check_features()
        self.holidays_ = holiday_days(self.holidays, type(self).__name__)
        self.reference_ = np.full(X.shape[1], NAT)
        if isinstance(self.reference, str) and self.reference == "first":
            far = np.iinfo(np.int64).max
            first = np.where(X == NAT, far, X).min(axis=0)
            self.reference_ = np.where(first == far, NAT, first)
        elif self.reference is not None:
            try:
                self.reference_[:] = moment(self.reference, self.format).astype(np.int64)
            except (ValueError, TypeError):
                raise ValueError(
                    f"{type(self).__name__}: parameter 'reference' must be a date or 'first'; "
                    f"got {self.reference!r}."
                ) from None
        if self.reference_column is not None:
            self._reference_place()

    def _check_features(self) -> None:
        name = type(self).__name__
        chosen = self._features()
        strange = [one for one in chosen if one not in NAMES]
        if strange or not chosen or len(set(chosen)) < len(chosen):
            raise ValueError(
                f"{name}: parameter 'features' must hold some of {', '.join(NAMES)}, each once; "
                f"got {self.features!r}."
            )
        if "elapsed" in chosen and self.reference is None and self.reference_column is None:
            raise ValueError(f"{name}: 'elapsed' needs a reference or a reference_column.")
        if self.reference is not None and self.reference_column is not None:
            raise ValueError(f"{name}: give reference or reference_column, not both.")
        if "is_holiday" in chosen and self.holidays is None:
            raise ValueError(f"{name}: 'is_holiday' needs holidays.")
        parts = list(self.day_parts)
        if parts != sorted(set(parts)) or not all(0 < hour < 24 for hour in parts):
            raise ValueError(
                f"{name}: parameter 'day_parts' must hold rising hours above 0 and below 24; "
                f"got {self.day_parts!r}."
            )
        if not set(self.weekend) <= set(range(7)):
            raise ValueError(
                f"{name}: parameter 'weekend' must hold days from 0 (Monday) to 6; got {self.weekend!r}."
            )

    def _features(self) -> list[str]:
        if self.features is not None:
            return list(self.features)
        since = self.reference is not None or self.reference_column is not None
        return [*(["elapsed"] if since else []), *DEFAULT, *([] if self.holidays is None else ["is_holiday"])]

    def _reference_place(self) -> int | None:
        if self.reference_column is None:
            return None
        names = list(getattr(self, "feature_names_in_", range(self.n_features_in_)))
        return column_index(self.reference_column, names, type(self).__name__, "reference_column")

    def _plan(self) -> list[tuple[int, str]]:
        """Column and feature of each output, in order; of a part on a circle both coordinates."""
        found, origin = [], self._reference_place()
        for j in range(self.n_features_in_):
            if self.is_duration_[j]:
                found.append((j, "duration"))
                continue
            for one in self._features():
                if one == "elapsed" and j == origin:
                    continue
                cyclic = self.encoding == "cyclic" and one in CYCLES
                found += [(j, f"{one}_sin"), (j, f"{one}_cos")] if cyclic else [(j, one)]
        return found

    def transform(self, X: Any) -> np.ndarray:
        """The features of each row.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            Dates and times.

        Returns
        -------
        features : array of shape (n_samples, n_features_out)
        """
        check_is_fitted(self)
        X = self._check(X, reset=False)
        plan, origin = self._plan(), self._reference_place()
        found = np.empty((len(X), len(plan)))
        for k, (j, name) in enumerate(plan):
            gone = X[:, j] == NAT
            if name in ("elapsed", "duration"):
                start = np.zeros(1, dtype=np.int64) if name == "duration" else self.reference_[[j]]
                start = X[:, origin] if name == "elapsed" and origin is not None else start
                gone = gone | (start == NAT)
                found[:, k] = (X[:, j].astype(np.float64) - start) / ELAPSED[self.elapsed_unit]
            else:
                found[:, k] = self._part(np.where(gone, 0, X[:, j]), name)
            found[gone, k] = np.nan
        return found

    def _part(self, moments: np.ndarray, name: str) -> np.ndarray:
        """One feature of dates."""
        whole, _, wave = name.rpartition("_")
        if wave in ("sin", "cos") and whole in CYCLES:
            first, period = CYCLES[whole]
            angle = 2 * np.pi * (calendar_part(moments, whole) - first) / period
            return np.sin(angle) if wave == "sin" else np.cos(angle)
        if name == "part_of_day":
            hours = moments % DAY / ELAPSED["h"]
            return np.searchsorted(np.array(self.day_parts, dtype=float), hours, side="right")
        if name in ("is_weekend", "is_holiday", "is_workday"):
            weekend = np.isin(calendar_part(moments, "weekday"), list(self.weekend))
            if name == "is_weekend":
                return weekend
            holiday = self._is_holiday(moments // DAY)
            return holiday if name == "is_holiday" else ~(weekend | holiday)
        if name in FLAGS:
            next_day = moments if name == "is_month_start" else moments + DAY
            return calendar_part(next_day, "day") == 1
        return calendar_part(moments, name)

    def _is_holiday(self, days: np.ndarray) -> np.ndarray:
        if self.holidays is None or self.holidays_ is not None:
            return np.isin(days, () if self.holidays_ is None else self.holidays_)
        distinct, place = np.unique(days, return_inverse=True)
        first = datetime.date(1970, 1, 1)
        dates = [first + datetime.timedelta(days=int(day)) for day in distinct]
        answers = [
            bool(self.holidays(date) if callable(self.holidays) else date in self.holidays) for date in dates
        ]
        return np.array(answers, dtype=bool)[place.reshape(-1)]

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the features: "bought_month", "bought_hour_sin", "bought_elapsed" ...

        Parameters
        ----------
        input_features : array of str, optional
            Names for the columns of an array, which has none.

        Returns
        -------
        names : array of str
        """
        check_is_fitted(self)
        names = _check_feature_names_in(self, input_features)
        return np.array([f"{names[j]}_{one}" for j, one in self._plan()], dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        return tags


def calendar_part(moments: np.ndarray, name: str) -> np.ndarray:
    """A part of the calendar or the clock of times in microseconds since 1970.

    Examples
    --------
    >>> noon = np.array([moment("2024-12-30 12:45")]).astype(np.int64)
    >>> [
    ...     int(calendar_part(noon, part)[0])
    ...     for part in ("year", "month", "week", "weekday", "day_of_year", "minute")
    ... ]
    [2024, 12, 1, 0, 365, 45]
    """
    if name in ("hour", "minute", "second"):
        size, count = {"hour": ("h", 24), "minute": ("m", 60), "second": ("s", 60)}[name]
        return moments // ELAPSED[size] % count
    days = moments // DAY
    if name == "weekday":
        return (days + 3) % 7  # 1970 began on a Thursday
    if name == "week":  # of ISO 8601: that of the year which the week's Thursday is in
        days = days - (days + 3) % 7 + 3
    dates = days.astype("M8[D]")
    if name == "day":
        return (dates - dates.astype("M8[M]")).astype(np.int64) + 1
    if name in ("day_of_year", "week"):
        past = (dates - dates.astype("M8[Y]")).astype(np.int64)
        return past // 7 + 1 if name == "week" else past + 1
    months = dates.astype("M8[M]").astype(np.int64)
    return {"year": months // 12 + 1970, "month": months % 12 + 1, "quarter": months % 12 // 3 + 1}[name]


def holiday_days(holidays: Any, owner: str) -> np.ndarray | None:
    """Days since 1970 of a list of dates; None for what has to be asked day by day."""
    holidays = (
        getattr(holidays, "holidays", holidays) if isinstance(holidays, np.busdaycalendar) else holidays
    )
    if holidays is None or callable(holidays):
        return None
    if isinstance(holidays, str):
        raise ValueError(f"{owner}: parameter 'holidays' must be a list of dates; got {holidays!r}.")
    plain = type(holidays) in (list, tuple, set, frozenset, dict, np.ndarray) or hasattr(holidays, "dtype")
    if not plain:
        if hasattr(holidays, "__contains__"):
            return None
        raise ValueError(f"{owner}: parameter 'holidays' must hold dates; got {holidays!r}.")
    try:
        days = [moment(day).astype("M8[D]").astype(np.int64) for day in list(holidays)]
    except (ValueError, TypeError) as error:
        raise ValueError(f"{owner}: parameter 'holidays' must hold dates: {error}") from None
    return np.unique(np.array(days, dtype=np.int64))
