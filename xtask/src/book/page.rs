//! A page of Markdown, as far as links go.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// What a page points to, and where in it one can point to.
#[derive(Debug, Default)]
pub struct Page {
    /// Targets of links and images, as they are written, in order.
    pub links: Vec<String>,
    /// Names of its headings.
    pub anchors: Vec<String>,
}

impl Page {
    /// Reads a page.
    pub fn read(text: &str) -> Self {
        let mut page = Page::default();
        let mut heading = None::<String>;
        for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
            match event {
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    page.links.push(dest_url.into_string());
                }
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::Text(words) | Event::Code(words) => {
                    if let Some(heading) = &mut heading {
                        heading.push_str(&words);
                    }
                }
                Event::End(TagEnd::Heading(_)) => page.anchor(&heading.take().unwrap_or_default()),
                _ => {}
            }
        }
        page
    }

    /// The name of a heading, as code hosts and mdBook make it: lower case, hyphens for blanks, no punctuation, and a number for
    /// what is there already.
    fn anchor(&mut self, heading: &str) {
        let kept = heading.trim().chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        let name: String = kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect();
        let before = self.anchors.iter().filter(|anchor| **anchor == name).count();
        self.anchors.push(if before == 0 { name } else { format!("{name}-{before}") });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_found_and_code_is_not_looked_at() {
        let page = Page::read("[a](b.md#c) `[x](y)` ![d](e.svg)\n\n    [x](y)\n");
        assert_eq!(page.links, ["b.md#c", "e.svg"]);
        assert_eq!(Page::read("| [t](u) |\n| --- |\n| [v](w) |\n").links, ["u", "w"]);
    }

    #[test]
    fn headings_have_names() {
        let page = Page::read("# What `model-gen` costs: 4 bits, or 8?\n\n## Arm\n\n## Arm\n");
        assert_eq!(page.anchors, ["what-model-gen-costs-4-bits-or-8", "arm", "arm-1"]);
    }
}
