//! Packing: a checkpoint directory to a blob.
//!
//! ```text
//! checkpoint ─ import ─ topology ─ tensors of the engine ─ sections ─ emit ─ verify (parse, golden vectors)
//! ```

mod bounds;
mod calibrate;
mod extras;
mod f16;
mod fit;
mod golden;
mod int8;
mod quantized;
mod sections;
mod topology;
mod weights;

use crate::import::error::read_file;
use crate::import::language::language_id;
use crate::import::spm::SpmModel;
use crate::import::tokenizer::{SpecialIds, TokenizerSections, tokenizer_sections};
use crate::import::{Checkpoint, CheckpointDir, Vocabularies, other_tokenizers};
use anyhow::{Context, Result, ensure};
use latimer::EngineKind;
use latimer::blob::layout::{Block, Header, SectionKind, SpecHeader, TensorEntry};
use latimer::blob::{Parts, Spec, emit, emit_len};
use std::path::Path;

pub use crate::quantize::{InputBits, Recipe, Settings, Width};
pub use calibrate::CalibrationSet;
pub use extras::{EXTRAS, extras_of};
pub use fit::{Candidate, Choice, Fit};
pub use sections::with_section;

/// Choices a user makes when packing.
#[derive(Clone, Debug)]
pub struct Options {
    /// Which arithmetic.
    pub engine: EngineKind,
    /// Name of the choices below, for the blob's metadata (int8).
    pub recipe: Recipe,
    /// How weights and activations are quantized (int8).
    pub settings: Settings,
    /// What the quantizer learns from, where the settings ask for it (int8).
    pub calibration: Option<CalibrationSet>,
    /// Bytes that the blob may take: widths of weights are chosen so that it does (int8).
    pub fit_flash: Option<usize>,
    /// Whether 8-bit weights of linears with inputs of 8 bits lie in pairs.
    pub dsp_pairs: bool,
    /// exp and inverse square root of the f16 engine from `micromath` instead of `libm`.
    pub micromath: bool,
    /// Metadata beyond what the checkpoint says: `licence`, `source`, ...
    pub meta: Vec<(String, String)>,
    /// Language of phrases that do not start with a code (`>>xxx<<`), in a model of several.
    pub target: Option<String>,
    /// Recorded in the header for those who update models in the field.
    pub model_version: u32,
}

impl Options {
    /// The defaults of an engine.
    pub fn new(engine: EngineKind) -> Self {
        let (recipe, settings) = (Recipe::Fast, Recipe::Fast.settings());
        Options {
            engine,
            recipe,
            settings,
            calibration: None,
            fit_flash: None,
            dsp_pairs: false,
            micromath: false,
            meta: Vec::new(),
            target: None,
            model_version: 1,
        }
    }
}

impl Options {
    /// Takes the choices of a recipe.
    pub fn with_recipe(mut self, recipe: Recipe) -> Self {
        (self.recipe, self.settings) = (recipe, recipe.settings());
        self
    }

    /// The quantization in a line, for the blob's metadata.
    fn recipe_text(&self, fitted: bool) -> String {
        let weights = match self.settings.width {
            Width::Int8 => "8-bit weights".to_owned(),
            Width::Int8Groups(group) => format!("8-bit weights in groups of {group}"),
            Width::Int4(group) => format!("4-bit weights in groups of {group}"),
        };
        let weights = if fitted { "widths fitted to the flash".to_owned() } else { weights };
        format!("int8 {}, {weights}, activations of {} bits", self.recipe.name(), self.settings.bits)
    }
}

/// A blob and what it is made of.
#[derive(Clone, Debug)]
pub struct Packed {
    /// The blob.
    pub bytes: Vec<u8>,
    /// What the widths were chosen from, where they were.
    pub fit: Option<Fit>,
    /// Bytes of each section.
    pub sections: Vec<(SectionKind, usize)>,
}

/// How far a step of the packing is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// What is being done.
    pub step: &'static str,
    /// How many of `total` are done.
    pub done: usize,
    /// How many there are.
    pub total: usize,
}

/// Packs the checkpoint in `dir`.
pub fn pack(dir: &Path, options: &Options) -> Result<Packed> {
    pack_watched(dir, options, &|_| {})
}

/// [`pack`], telling `watch` how far it is, from any thread.
pub fn pack_watched(dir: &Path, options: &Options, watch: &(dyn Fn(Progress) + Sync)) -> Result<Packed> {
    let dir = CheckpointDir::open(dir)?;
    other_tokenizers::refuse(&dir)?;
    let mut checkpoint = dir.tensors(dir.config()?)?;
    let vocabularies = dir.vocabularies(&checkpoint.config)?;
    let tokenizer = tokenizer(&dir, &checkpoint, &vocabularies, options.target.as_deref())?;
    let meta = |fitted: bool| meta(&dir, &vocabularies, options, fitted);

    let extras = extras::read(&dir)?;
    let mut parts = BlobParts { tokenizer, meta: meta(false)?, extras, options };
    if options.engine == EngineKind::F16 {
        ensure!(options.fit_flash.is_none(), "--fit-flash chooses widths of the int8 engine's weights");
        return parts.blob(&checkpoint, None);
    }
    let (quantizer, held_out) = calibrate::quantizer(&dir, &mut checkpoint, &vocabularies, options, watch)?;
    let quantized = quantized::quantized(&checkpoint, &quantizer, watch)?;
    let packed = parts.blob(&checkpoint, Some(&quantized))?;
    let Some(wanted) = options.fit_flash.filter(|bytes| packed.bytes.len() > *bytes) else { return Ok(packed) };
    parts.meta = meta(true)?;
    let size = parts.blob(&checkpoint, Some(&quantized))?.bytes.len();
    let (fit, quantized) = fit::fit(&checkpoint, &quantizer, &held_out, wanted, quantized, size, watch)?;
    let packed = parts.blob(&checkpoint, Some(&quantized))?;
    ensure!(packed.bytes.len() <= wanted, "--fit-flash {wanted}: the blob takes {} bytes", packed.bytes.len());
    Ok(Packed { fit: Some(fit), ..packed })
}

/// What a blob holds beside its model.
struct BlobParts<'o> {
    tokenizer: Tokenizer,
    meta: String,
    /// What was learned about the model.
    extras: Vec<(SectionKind, Vec<u8>)>,
    options: &'o Options,
}

impl BlobParts<'_> {
    /// The blob of a checkpoint as it is, or quantized.
    fn blob(&self, checkpoint: &Checkpoint, quantized: Option<&quantized::Quantized>) -> Result<Packed> {
        let (options, tokenizer) = (self.options, &self.tokenizer);
        let tensors = topology::Tensors::of(quantized.map_or(checkpoint, |quantized| &quantized.checkpoint));
        let mut weights = weights::Weights::default();
        let entries: Vec<TensorEntry> = match quantized {
            Some(quantized) => int8::entries(quantized, &tensors, options, &mut weights)?,
            None => f16::convert(checkpoint, &tensors, &mut weights)?,
        };
        let spec = tensors.spec(checkpoint, &tokenizer.ids, entries.len(), options.micromath)?;
        let mut sections = vec![
            (SectionKind::Spec, emit_spec(&spec)?),
            (SectionKind::Tensors, emit_entries(&entries)),
            (SectionKind::Weights, weights.into_bytes()),
            (SectionKind::Tokenizer, tokenizer.sections.tokenizer.clone()),
            (SectionKind::SourceVocab, tokenizer.sections.source_vocab.clone()),
        ];
        sections.extend(tokenizer.sections.target_vocab.clone().map(|bytes| (SectionKind::TargetVocab, bytes)));
        sections.push((SectionKind::Meta, self.meta.clone().into_bytes()));
        sections.extend(self.extras.iter().cloned());

        // The golden vectors are what the runtime itself computes from the blob without them.
        let unsigned = emit_blob(options, &sections)?;
        let golden = golden::vectors(&unsigned).context("the packed model does not run")?;
        sections.push((SectionKind::SelfTest, golden));
        let bytes = emit_blob(options, &sections)?;
        golden::verify(&bytes).context("the packed model fails its own golden vectors")?;
        let sections = sections.iter().map(|(kind, bytes)| (*kind, bytes.len())).collect();
        Ok(Packed { bytes, fit: None, sections })
    }
}

struct Tokenizer {
    sections: TokenizerSections,
    ids: SpecialIds,
}

fn tokenizer(
    dir: &CheckpointDir,
    checkpoint: &Checkpoint,
    vocabularies: &Vocabularies,
    target_language: Option<&str>,
) -> Result<Tokenizer> {
    let read = |path: &Path, name: &str| -> Result<SpmModel> {
        let bytes = read_file(path, "copy the whole checkpoint directory")?;
        SpmModel::parse(name, &bytes)
    };
    let source = read(&dir.source_spm(), "source.spm")?;
    let target = read(&dir.target_spm(), "target.spm")?;
    let id = |key: &str, id: u32| u16::try_from(id).with_context(|| format!("config.json: {key} {id} exceeds 65535"));
    let unk = vocabularies.source.id("<unk>").context("vocab.json: no piece \"<unk>\", which unknown text maps to")?;
    let language = target_language.map(|code| language_id(&vocabularies.source, code)).transpose()?;
    let ids = SpecialIds {
        eos: id("eos_token_id", checkpoint.config.eos_token_id)?,
        pad: id("pad_token_id", checkpoint.config.pad_token_id)?,
        unk: id("<unk>", unk)?,
        language: language.map(|language| id("--target", language)).transpose()?,
    };
    // Hugging Face's tokenizer ends a text with the vocabulary's own "</s>", generation with the config's id.
    for vocab in [&vocabularies.source, &vocabularies.target] {
        if let Some(end) = vocab.id("</s>") {
            ensure!(
                end == checkpoint.config.eos_token_id,
                "{}: \"</s>\" has the id {end}, but eos_token_id of config.json is {}: make them the same",
                vocab.name(),
                checkpoint.config.eos_token_id
            );
        }
    }
    let separate = !std::sync::Arc::ptr_eq(&vocabularies.source, &vocabularies.target);
    let target_vocab = separate.then_some(vocabularies.target.as_ref());
    let sections = tokenizer_sections(&source, &target, &vocabularies.source, target_vocab, ids)?;
    Ok(Tokenizer { sections, ids })
}

/// `key=value` lines; the checkpoint's own first, so that options can add to them.
fn meta(dir: &CheckpointDir, vocabularies: &Vocabularies, options: &Options, fitted: bool) -> Result<String> {
    let name = dir.path().canonicalize().ok().and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
    let recipe = match options.engine {
        EngineKind::Int8 => options.recipe_text(fitted),
        EngineKind::F16 if options.micromath => "f16, micromath".to_owned(),
        EngineKind::F16 => "f16, libm".to_owned(),
    };
    let mut lines = vec![("name".to_owned(), name.unwrap_or_default()), ("recipe".to_owned(), recipe)];
    for (key, value) in [("source_language", &vocabularies.source_lang), ("target_language", &vocabularies.target_lang)]
    {
        lines.extend(value.clone().map(|value| (key.to_owned(), value)));
    }
    for (key, value) in &options.meta {
        lines.retain(|(other, _)| other != key);
        lines.push((key.clone(), value.clone()));
    }
    for (key, value) in &lines {
        let plain = !key.is_empty() && !key.contains(['=', '\n', '\r']) && !value.contains(['\n', '\r']);
        ensure!(plain, "--meta {key}={value}: a key has no '=', and neither has a line break");
    }
    Ok(lines.iter().map(|(key, value)| format!("{key}={value}\n")).collect())
}

fn emit_spec(spec: &topology::SpecParts) -> Result<Vec<u8>> {
    let mut bytes = vec![0; SpecHeader::SIZE + spec.blocks.len() * Block::SIZE];
    let len = Spec::emit(&spec.header, &spec.blocks, &mut bytes).context("the spec has more blocks than it can")?;
    bytes.truncate(len);
    Ok(bytes)
}

fn emit_entries(entries: &[TensorEntry]) -> Vec<u8> {
    let mut bytes = vec![0; entries.len() * TensorEntry::SIZE];
    for (i, entry) in entries.iter().enumerate() {
        entry.write(&mut bytes, i * TensorEntry::SIZE).expect("sized for the entries");
    }
    bytes
}

fn emit_blob(options: &Options, sections: &[(SectionKind, Vec<u8>)]) -> Result<Vec<u8>> {
    let borrowed: Vec<(SectionKind, &[u8])> = sections.iter().map(|(kind, bytes)| (*kind, bytes.as_slice())).collect();
    let layout = latimer::kernel::layout::LAYOUT_TILES;
    let header =
        Header { engine: options.engine as u8, layout, model_version: options.model_version, ..Header::default() };
    let parts = Parts { header, sections: &borrowed };
    let mut bytes = vec![0; emit_len(&parts)];
    emit(&parts, &mut bytes).context("the blob would be larger than 4 GiB")?;
    Ok(bytes)
}
