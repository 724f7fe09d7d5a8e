//! The blob: a model in one run of bytes, read where it lies.
//!
//! [`layout`] has the records, [`container`] the header and the section table, [`spec`] the model's dimensions and
//! [`tensor`] its weights. Parse and emit stand side by side, and `model-gen` packs with the same code.
//!
//! [`Blob::parse`] checks every byte once. Any bytes at all give a [`BlobError`] or a model that runs in bounded
//! time; after that nothing is checked again.

pub mod charsmap;
mod check;
pub mod container;
mod find;
pub mod glossary;
pub mod guide;
pub mod layout;
pub(crate) mod record;
pub mod shortlist;
pub mod spec;
pub mod tensor;
pub mod tokenizer;
pub mod vocab;

pub use check::sums_fit;
pub(crate) use container::digest_values;
pub use container::{CRC32, Digest, Parts, emit, emit_len};
pub use find::{Blobs, find};
pub use layout::{SectionKind, VERSION};
pub use record::{FieldDoc, RecordDoc};
pub use spec::Spec;
pub use tensor::Tensor;

pub(crate) use check::{BlockTensors, Tensors};

use crate::engine::EngineKind;
use crate::error::BlobError;
use crate::text::Tokenizer;
use container::Container;
use core::fmt;
use glossary::Glossary;
use guide::Guide;
use shortlist::Shortlist;

/// A checked blob.
#[derive(Clone, Copy)]
pub struct Blob<'a> {
    container: Container<'a>,
    engine: EngineKind,
    spec: Spec<'a>,
    tensors: Tensors<'a>,
    tokenizer: Tokenizer<'a>,
    guide: Guide<'a>,
    glossary: Glossary<'a>,
    shortlist: Option<Shortlist<'a>>,
}

impl<'a> Blob<'a> {
    /// Checks `bytes` and gives access to what is in them. Bytes after the blob's own length are not looked at.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, BlobError> {
        let container = Container::open(bytes)?;
        container.check()?;
        let header = container.header();
        let engine = EngineKind::from_header(header.engine)?;
        if header.layout != crate::kernel::layout::LAYOUT_TILES {
            return Err(BlobError::Layout { found: header.layout });
        }
        let spec = Spec::parse(container.required(SectionKind::Spec)?)?;
        let table = container.required(SectionKind::Tensors)?;
        let weights = container.required(SectionKind::Weights)?;
        let tensors = Tensors::parse(&spec, engine, table, weights)?;
        let tokenizer = Tokenizer::parse(
            container.required(SectionKind::Tokenizer)?,
            container.required(SectionKind::SourceVocab)?,
            container.section(SectionKind::TargetVocab),
        )?;
        let (source, target) = (tokenizer.source().id_count(), tokenizer.target().id_count());
        let fits = [
            (SectionKind::SourceVocab, source <= spec.header().source_vocab as usize),
            (SectionKind::TargetVocab, target <= spec.header().target_vocab as usize),
            (SectionKind::Tokenizer, tokenizer.unk_id() == spec.header().unk_id),
        ];
        if let Some((section, _)) = fits.iter().find(|(_, fits)| !fits) {
            return Err(BlobError::Malformed { section: *section as u32, index: 0 });
        }
        // What the feature `guide` is off for is passed over.
        let asked = |kind| if cfg!(feature = "guide") { container.section(kind) } else { None };
        let guide = match asked(SectionKind::Guide) {
            Some(bytes) => Guide::parse(bytes)?,
            None => Guide::absent(spec.decoder_blocks()),
        };
        let (block, head) = (guide.header().aligned_block as usize, guide.header().aligned_head);
        if spec.decoder_block(block).is_none_or(|block| head >= block.heads) {
            return Err(BlobError::Malformed { section: SectionKind::Guide as u32, index: 0 });
        }
        let glossary = match asked(SectionKind::Glossary) {
            Some(bytes) => Glossary::parse(bytes)?,
            None => Glossary::EMPTY,
        };
        let shortlist = match container.section(SectionKind::Shortlist) {
            Some(section) => Some(Shortlist::parse(section, spec.header())?),
            None => None,
        };
        Ok(Blob { container, engine, spec, tensors, tokenizer, guide, glossary, shortlist })
    }

    /// Text to ids and back.
    pub const fn tokenizer(&self) -> &Tokenizer<'a> {
        &self.tokenizer
    }

    pub(crate) const fn tokenizer_mut(&mut self) -> &mut Tokenizer<'a> {
        &mut self.tokenizer
    }

    /// What was learned about the model.
    pub const fn guide(&self) -> &Guide<'a> {
        &self.guide
    }

    /// Phrases and terms whose translations are given with the model.
    pub const fn glossary(&self) -> &Glossary<'a> {
        &self.glossary
    }

    /// Which row blocks of the output matrix a phrase needs, where the blob knows.
    pub const fn shortlist(&self) -> Option<&Shortlist<'a>> {
        self.shortlist.as_ref()
    }

    /// The engine the blob was packed for.
    pub const fn engine(&self) -> EngineKind {
        self.engine
    }

    /// Dimensions, ids, blocks.
    pub const fn spec(&self) -> &Spec<'a> {
        &self.spec
    }

    /// Length in bytes.
    pub const fn len(&self) -> usize {
        self.container.bytes().len()
    }

    /// Never: a blob has at least its header.
    pub const fn is_empty(&self) -> bool {
        false
    }

    /// Header and section table.
    pub const fn container(&self) -> &Container<'a> {
        &self.container
    }

    /// Every tensor, in the order of the table.
    pub fn tensors(&self) -> impl Iterator<Item = Tensor<'a>> {
        self.tensors.iter()
    }

    pub(crate) const fn table(&self) -> &Tensors<'a> {
        &self.tensors
    }

    /// The value of `key` in the metadata: `name`, `source_language`, `target_language`, `licence`, `source`, `recipe`.
    pub fn meta(&self, key: &str) -> Option<&'a str> {
        self.meta_lines().find_map(|(k, value)| (k == key).then_some(value))
    }

    /// Every key and value of the metadata.
    pub fn meta_lines(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        let section = self.container.section(SectionKind::Meta).unwrap_or_default();
        // Split as bytes: the standard library's search in strings holds checks that the linker cannot drop.
        section.split(|&byte| byte == b'\n').filter_map(|line| {
            let (key, value) = line.split_at_checked(line.iter().position(|&byte| byte == b'=')?)?;
            Some((core::str::from_utf8(key).ok()?, core::str::from_utf8(value.get(1..)?).ok()?))
        })
    }
}

/// Name, engine and length; not the bytes.
impl fmt::Debug for Blob<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut f = f.debug_struct("Blob");
        f.field("name", &self.meta("name")).field("engine", &self.engine).field("len", &self.len()).finish()
    }
}
