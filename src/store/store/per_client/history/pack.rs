//! Many verdicts in few bytes: three for most.

use std::collections::BTreeMap;

use bincode::{Decode, Encode};

use crate::engine::basis::Basis;
use crate::engine::fact::Status;
use crate::error::{Error, Result};

/// One verdict about a control, a row of a framework, a framework as a whole, or the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    pub status: Status,
    pub basis: Basis,
    /// 0 to 100. `None`: there is none to show.
    pub score: Option<u8>,
    /// What observed it, sorted. Not all are named if there are many.
    pub sources: Vec<String>,
    pub n_sources: u32,
    /// Of a framework that has this score.
    pub sprs: Option<i16>,
}

impl Default for Verdict {
    /// The verdict about what was never looked at.
    fn default() -> Self {
        Self {
            status: Status::NotAssessed,
            basis: Basis::Nothing,
            score: None,
            sources: Vec::new(),
            n_sources: 0,
            sprs: None,
        }
    }
}

/// Verdicts by their position in an outline. Those that are left out are as before.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub(super) struct PackedVerdicts {
    labels: Vec<String>,
    /// Of each: the distance from the one before, [`head`], the score or [`NO_SCORE`], and the rest if there is one.
    bytes: Vec<u8>,
}

const NO_SCORE: u8 = u8::MAX;
const HAS_REST: u8 = 0x80;
const BASIS_SHIFT: u8 = 3;
const STATUS_MASK: u8 = 0b111;
const BASIS_MASK: u8 = 0b1111;

impl PackedVerdicts {
    /// Packs verdicts in the order of their positions.
    pub(super) fn of<'a>(verdicts: impl IntoIterator<Item = (usize, &'a Verdict)>) -> Self {
        let (mut labels, mut bytes, mut next) = (Vec::new(), Vec::new(), 0);
        for (position, verdict) in verdicts {
            put_number(&mut bytes, position - next);
            next = position + 1;
            let has_rest = verdict.n_sources != 0 || verdict.sprs.is_some();
            bytes.push(head(verdict) | if has_rest { HAS_REST } else { 0 });
            bytes.push(verdict.score.unwrap_or(NO_SCORE));
            if has_rest {
                put_number(&mut bytes, verdict.n_sources as usize);
                put_number(&mut bytes, verdict.sources.len());
                for source in &verdict.sources {
                    let known = labels.iter().position(|it| it == source);
                    put_number(&mut bytes, known.unwrap_or(labels.len()));
                    if known.is_none() {
                        labels.push(source.clone());
                    }
                }
                let sprs = verdict.sprs.map_or(0, |it| usize::from(it.cast_unsigned()) + 1);
                put_number(&mut bytes, sprs);
            }
        }
        Self { labels, bytes }
    }

    /// # Errors
    /// `Internal` if the bytes are not those of verdicts.
    pub(super) fn list(&self) -> Result<Vec<(usize, Verdict)>> {
        let mut reader = Reader { packed: self, at: 0, next: 0 };
        let mut found = Vec::new();
        while let Some(each) = reader.read(|_| true)? {
            found.push(each);
        }
        Ok(found)
    }

    /// What counts after this change and a newer one.
    ///
    /// # Errors
    /// As [`PackedVerdicts::list`].
    pub(super) fn merge(&self, newer: &Self) -> Result<Self> {
        let mut all: BTreeMap<usize, Verdict> = self.list()?.into_iter().collect();
        all.extend(newer.list()?);
        Ok(Self::of(all.iter().map(|(position, it)| (*position, it))))
    }

    pub(super) fn approximate_bytes(&self) -> usize {
        const FRAME_BYTES: usize = 6;
        let labels = self.labels.iter().map(|it| 1 + it.len());
        FRAME_BYTES + self.bytes.len() + labels.sum::<usize>()
    }

    /// The verdict at a position. `None`: it is left out.
    ///
    /// # Errors
    /// `Internal` if the bytes are not those of verdicts.
    pub(super) fn find(&self, position: usize) -> Result<Option<Verdict>> {
        let mut reader = Reader { packed: self, at: 0, next: 0 };
        while let Some((at, verdict)) = reader.read(|it| it == position)? {
            if position <= at {
                return Ok((at == position).then_some(verdict));
            }
        }
        Ok(None)
    }
}

fn head(verdict: &Verdict) -> u8 {
    verdict.status as u8 | (verdict.basis as u8) << BASIS_SHIFT
}

/// Seven bits a byte, the lowest first; the highest bit of a byte says that one more follows.
fn put_number(bytes: &mut Vec<u8>, mut number: usize) {
    loop {
        let [low, ..] = number.to_le_bytes();
        number >>= 7;
        let is_last = number == 0;
        bytes.push(if is_last { low } else { low | 0x80 });
        if is_last {
            return;
        }
    }
}

struct Reader<'a> {
    packed: &'a PackedVerdicts,
    /// Which byte is read next.
    at: usize,
    /// The position of the next verdict if none is left out.
    next: usize,
}

impl Reader<'_> {
    /// The next verdict. Its sources are read only at positions that are `wanted`.
    fn read(&mut self, wanted: impl Fn(usize) -> bool) -> Result<Option<(usize, Verdict)>> {
        if self.at == self.packed.bytes.len() {
            return Ok(None);
        }
        let position = self.next + self.number()?;
        self.next = position + 1;
        let (head, score) = (self.byte()?, self.byte()?);
        let status = Status::ALL.get(usize::from(head & STATUS_MASK));
        let basis = Basis::ALL.get(usize::from(head >> BASIS_SHIFT & BASIS_MASK));
        let mut verdict = Verdict {
            status: *status.ok_or_else(damaged)?,
            basis: *basis.ok_or_else(damaged)?,
            score: Some(score).filter(|it| *it != NO_SCORE),
            ..Verdict::default()
        };
        if head & HAS_REST != 0 {
            verdict.n_sources = u32::try_from(self.number()?).map_err(|_| damaged())?;
            for _ in 0..self.number()? {
                let label = self.number()?;
                if wanted(position) {
                    let label = self.packed.labels.get(label).ok_or_else(damaged)?;
                    verdict.sources.push(label.clone());
                }
            }
            let sprs = self.number()?.checked_sub(1);
            let sprs = sprs.map(|it| u16::try_from(it).map(u16::cast_signed)).transpose();
            verdict.sprs = sprs.map_err(|_| damaged())?;
        }
        Ok(Some((position, verdict)))
    }

    fn byte(&mut self) -> Result<u8> {
        let byte = self.packed.bytes.get(self.at).copied().ok_or_else(damaged)?;
        self.at += 1;
        Ok(byte)
    }

    fn number(&mut self) -> Result<usize> {
        let (mut number, mut shift) = (0, 0);
        loop {
            let byte = self.byte()?;
            number |= usize::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
            if 28 < shift {
                return Err(damaged());
            }
        }
    }
}

fn damaged() -> Error {
    Error::internal("a record of verdicts cannot be read")
}
