//! The faults, and what each may leave.

/// A way in which a vendor goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A page is refused with 429 and this `Retry-After` once.
    Busy(RetryAfter),
    /// A page after the first is refused with 401 once.
    Refused,
    /// The list has one row more than fits on its pages.
    OneRowMore,
    /// The vendor's clock says that ours is an hour behind.
    Clock,
    /// A page ends in the middle.
    Cut,
    /// A page of a web site with status 200.
    Html,
    /// Nothing, with status 200.
    Empty,
    /// One list answers 500, and the others are well.
    Error,
    /// The next page is said to be on another host.
    ForeignLink,
    /// Every page is the first one.
    SamePage,
    /// Each page leads to another one.
    Endless,
    /// The list has a part of its rows.
    Shorter,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryAfter {
    Second,
    Zero,
    Fraction,
    Word,
    Date,
    Absent,
    /// Longer than a run.
    Hour,
}

/// What is left of a run with a fault.
#[derive(Clone, Copy, Debug)]
pub enum Leaves {
    /// All was read.
    Everything,
    /// All was read of a list that has fewer rows. Nothing says that they are only hidden.
    FewerRows,
    /// The list was not read, or a part of it, for a reason with these words. All else was.
    OneListLess(&'static str),
    /// A stream of this name says these words, and no part of the list counts until a second run agrees.
    Doubt(&'static str, &'static str),
    /// Nothing was read, for a reason with these words.
    Nothing(&'static str),
    /// The vendor has no such fault, because of this.
    NoSuchFault(&'static str),
}

use Fault::{
    Busy, Clock, Cut, Empty, Endless, Error, ForeignLink, Html, OneRowMore, Refused, SamePage,
    Shorter,
};
use RetryAfter::{Absent, Date, Fraction, Hour, Second, Word, Zero};

/// Faults that end a list early, each with one that does not, so that the run after it reads everything. Every fourth pair is
/// for one service, and the services wait for about as long as each other.
pub const PAIRS: [[Fault; 2]; 9] = [
    [Cut, Refused],
    [Html, Busy(Word)],
    [Error, Busy(Absent)],
    [ForeignLink, Busy(Date)],
    [Empty, OneRowMore],
    [SamePage, Busy(Zero)],
    [Shorter, Busy(Fraction)],
    [Endless, Clock],
    [Busy(Hour), Busy(Second)],
];

impl Fault {
    /// As the table names it.
    pub fn name(self) -> &'static str {
        match self {
            Busy(Second) => "429, Retry-After: 1",
            Busy(Zero) => "429, Retry-After: 0",
            Busy(Fraction) => "429, Retry-After: 0.249",
            Busy(Word) => "429, Retry-After: a word",
            Busy(Date) => "429, Retry-After: an HTTP-date",
            Busy(Absent) => "429 without Retry-After",
            Busy(Hour) => "429, Retry-After: 3600",
            Refused => "401 between two pages",
            OneRowMore => "n pages and one row more",
            Clock => "a clock an hour off",
            Cut => "a body that breaks off",
            Html => "HTML with 200",
            Empty => "an empty body with 200",
            Error => "500 on one stream",
            ForeignLink => "a next link to another host",
            SamePage => "the same page twice",
            Endless => "a list without an end",
            Shorter => "a list that shrinks",
        }
    }
}

/// What a fault of a JSON API leaves, unless the vendor is special.
pub const fn usual(fault: Fault) -> Leaves {
    match fault {
        Busy(Hour) => {
            Leaves::OneListLess("asked to wait for 3600 s, and there was not enough time")
        }
        Busy(_) | Refused | OneRowMore | Clock => Leaves::Everything,
        Cut => Leaves::OneListLess("the connection broke or the answer was not valid"),
        Html => Leaves::OneListLess("the answer is not JSON (text/html)"),
        Empty => Leaves::OneListLess("the answer is not JSON"),
        Error => Leaves::OneListLess("status 500"),
        ForeignLink => Leaves::OneListLess("the next page is said to be at another place"),
        SamePage => Leaves::OneListLess("the service sent the same page twice"),
        Endless => Leaves::OneListLess("more than 200000 rows are not read"),
        Shorter => Leaves::FewerRows,
    }
}
