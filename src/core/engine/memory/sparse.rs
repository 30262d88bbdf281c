//! A memory that takes little space while there is nothing in it, as in most observations: an assessment reads them all.

use std::ops::{Deref, DerefMut};

use bincode::de::Decoder;
use bincode::enc::Encoder;
use bincode::error::{DecodeError, EncodeError};
use bincode::{Decode, Encode};

use super::{Extent, Memory, NamelessSubjects};

#[derive(Clone, Debug, Default)]
pub struct SparseMemory(Option<Box<Memory>>);

/// The default.
static NOTHING: Memory = Memory {
    extent: Extent::All,
    names: Vec::new(),
    muted: Vec::new(),
    carried: Vec::new(),
    nameless: NamelessSubjects { n: 0, failed_on: 0 },
    healed: Vec::new(),
    n_known: 0,
    n_said_to_pass: None,
    shrank_at: None,
};

impl Deref for SparseMemory {
    type Target = Memory;

    fn deref(&self) -> &Memory {
        self.0.as_deref().unwrap_or(&NOTHING)
    }
}

impl DerefMut for SparseMemory {
    fn deref_mut(&mut self) -> &mut Memory {
        self.0.get_or_insert_default()
    }
}

impl From<Memory> for SparseMemory {
    fn from(memory: Memory) -> Self {
        Self((memory != NOTHING).then(|| Box::new(memory)))
    }
}

impl From<SparseMemory> for Memory {
    fn from(memory: SparseMemory) -> Self {
        memory.0.map_or_else(Self::default, |it| *it)
    }
}

impl PartialEq for SparseMemory {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for SparseMemory {}

impl Encode for SparseMemory {
    fn encode<E: Encoder>(&self, encoder: &mut E) -> Result<(), EncodeError> {
        Memory::encode(self, encoder)
    }
}

impl<C> Decode<C> for SparseMemory {
    fn decode<D: Decoder<Context = C>>(decoder: &mut D) -> Result<Self, DecodeError> {
        Memory::decode(decoder).map(Self::from)
    }
}
