//! What commands let users choose of what is done around the model.

use latimer::TextOptions;

/// Switches of [`TextOptions`].
#[derive(Clone, Debug, clap::Args)]
pub struct AroundArgs {
    /// Give the model each phrase as it is: no sentences are split, no numbers kept, no loops left.
    #[arg(long, conflicts_with = "without")]
    raw: bool,
    /// What is not to be done around the model.
    #[arg(long, value_name = "WHAT", value_delimiter = ',')]
    without: Vec<Around>,
}

/// A switch of [`TextOptions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Around {
    /// Sentences one by one.
    Sentences,
    /// Numbers, codes, addresses, placeholders, tags, emoji, foreign scripts copied.
    Protect,
    /// CAPITALS and Titles as sentences.
    Casing,
    /// Final marks as in the source.
    Punctuation,
    /// Loops left, lengths bounded.
    Guards,
    /// Phrases and terms from the glossary.
    Glossary,
}

impl AroundArgs {
    /// What is done around the model; `None` gives it phrases as they are.
    pub fn options(&self) -> Option<TextOptions> {
        let with = |what| !self.without.contains(&what);
        (!self.raw).then(|| TextOptions {
            sentences: with(Around::Sentences),
            protect: with(Around::Protect),
            casing: with(Around::Casing),
            punctuation: with(Around::Punctuation),
            guards: with(Around::Guards),
            glossary: with(Around::Glossary),
            stream: true,
        })
    }
}
