//! Exact fractions of the whole.

/// An exact fraction of the whole. Only a mean without a common denominator below 2^64 is rounded down.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) struct Share {
    part: u64,
    /// Not 0.
    whole: u64,
}

impl Share {
    pub(in crate::engine) const NONE: Self = Self { part: 0, whole: 1 };
    pub(in crate::engine) const HALF: Self = Self { part: 1, whole: 2 };
    pub(in crate::engine) const WHOLE: Self = Self { part: 1, whole: 1 };
    pub(in crate::engine) const MILLION: u64 = 1_000_000;
    /// The denominator of a mean that has no other.
    const FINEST: u64 = 1 << 62;

    /// Returns the share that `part` is of `whole`. 0 if `whole` is 0.
    pub(in crate::engine) fn of(part: u64, whole: u64) -> Self {
        assert!(part <= whole, "part {part} of whole {whole}");
        if whole == 0 {
            return Self::NONE;
        }
        let divisor = gcd(part, whole);
        Self { part: part / divisor, whole: whole / divisor }
    }

    /// 0 if there are no shares.
    pub(in crate::engine) fn mean(shares: &[Self]) -> Self {
        let n = shares.len() as u64;
        if n == 0 {
            return Self::NONE;
        }
        let sum = |unit: u64| -> u128 {
            let scaled = |it: &Self| u128::from(it.part) * u128::from(unit) / u128::from(it.whole);
            shares.iter().map(scaled).sum()
        };
        let common = shares.iter().try_fold(1, |common, it| lcm(common, it.whole));
        let exact = common.and_then(|common| Some((sum(common), common.checked_mul(n)?)));
        let (part, whole) =
            exact.unwrap_or_else(|| (sum(Self::FINEST) / u128::from(n), Self::FINEST));
        Self::of(u64::try_from(part).expect("a mean is at most the whole"), whole)
    }

    /// This share of an amount, rounded down.
    pub(in crate::engine) fn times(self, amount: u64) -> u64 {
        let product = u128::from(amount) * u128::from(self.part) / u128::from(self.whole);
        u64::try_from(product).expect("a share of an amount is at most the amount")
    }

    /// The square root of this share, in millionths, rounded down.
    pub(in crate::engine) fn root_in_millionths(self) -> u64 {
        let million = u128::from(Self::MILLION);
        let square = u128::from(self.part) * million * million / u128::from(self.whole);
        u64::try_from(square.isqrt()).expect("the root of a share is at most the whole")
    }

    fn is_below(self, other: Self) -> bool {
        let across = |a: Self, b: Self| u128::from(a.part) * u128::from(b.whole);
        across(self, other) < across(other, self)
    }

    /// The larger of two shares.
    pub(in crate::engine) fn or_more(self, other: Self) -> Self {
        if self.is_below(other) { other } else { self }
    }

    /// The smaller of two shares.
    pub(in crate::engine) fn or_less(self, other: Self) -> Self {
        if other.is_below(self) { other } else { self }
    }

    /// This share of another one.
    pub(in crate::engine) fn of_share(self, other: Self) -> Self {
        let (mut part, mut whole) = (
            u128::from(self.part) * u128::from(other.part),
            u128::from(self.whole) * u128::from(other.whole),
        );
        while u128::from(u64::MAX) < whole {
            (part, whole) = (part / 2, whole / 2 + whole % 2);
        }
        let fits = "it was halved until it fits";
        Self::of(u64::try_from(part).expect(fits), u64::try_from(whole).expect(fits))
    }

    pub(in crate::engine) const fn is_none(self) -> bool {
        self.part == 0
    }

    pub(in crate::engine) const fn is_below_half(self) -> bool {
        self.part < self.whole - self.part
    }

    /// What is left of the whole.
    pub(in crate::engine) fn rest(self) -> Self {
        Self { part: self.whole - self.part, whole: self.whole }
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// `None`: it is too large.
fn lcm(a: u64, b: u64) -> Option<u64> {
    (a / gcd(a, b)).checked_mul(b)
}
