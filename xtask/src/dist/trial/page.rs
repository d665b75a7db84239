//! The installation page, as sections with their code blocks.

use std::fs;

use anyhow::{Context as _, Result, bail};

use crate::Workspace;

const PATH: &str = "docs/guide/get-anyhook.md";
/// The start of a block that is run here; the test of all other documents skips it.
const FENCE: &str = "```sh dist";

/// The page.
#[derive(Debug)]
pub struct TrialPage {
    sections: Vec<Section>,
}

#[derive(Debug)]
struct Section {
    title: String,
    blocks: Vec<String>,
}

impl TrialPage {
    /// Reads it from the repository.
    pub fn read(workspace: &Workspace) -> Result<Self> {
        let text = fs::read_to_string(workspace.root.join(PATH))
            .with_context(|| format!("{PATH} cannot be read"))?;
        Ok(Self::parse(&text))
    }

    fn parse(text: &str) -> Self {
        let mut sections: Vec<Section> = Vec::new();
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            if let Some(title) = line.strip_prefix("## ") {
                sections.push(Section { title: title.to_owned(), blocks: Vec::new() });
            } else if line == FENCE
                && let Some(section) = sections.last_mut()
            {
                let block: Vec<_> = lines.by_ref().take_while(|line| *line != "```").collect();
                section.blocks.push(block.join("\n"));
            }
        }
        Self { sections }
    }

    /// Returns the only block of a section.
    pub fn only(&self, title: &str) -> Result<String> {
        let [block] = self.blocks(title)? else {
            bail!("{PATH}: `{title}` must have one block that is run");
        };
        Ok(block.clone())
    }

    /// Returns the blocks of a section that install and uninstall.
    pub fn pair(&self, title: &str) -> Result<[String; 2]> {
        let [install, uninstall] = self.blocks(title)? else {
            bail!("{PATH}: `{title}` must have two blocks that are run");
        };
        Ok([install.clone(), uninstall.clone()])
    }

    /// Returns the block of a section that installs.
    pub fn first(&self, title: &str) -> Result<String> {
        self.pair(title).map(|[install, _]| install)
    }

    fn blocks(&self, title: &str) -> Result<&[String]> {
        let section = self.sections.iter().find(|section| section.title == title);
        Ok(&section.with_context(|| format!("{PATH} has no section `{title}`"))?.blocks)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::kinds::KINDS;
    use super::*;

    #[test]
    fn blocks_belong_to_the_heading_above_them() {
        let page = TrialPage::parse("# P\n## A\n```sh dist\none\ntwo\n```\n```sh\nno\n```\n## B\n");
        assert_eq!(page.only("A").unwrap(), "one\ntwo");
        assert!(page.only("B").is_err());
        assert!(page.pair("A").is_err());
        assert!(page.only("C").is_err());
    }

    #[test]
    fn every_block_of_the_page_is_run() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let page = TrialPage::parse(&fs::read_to_string(root.join(PATH)).unwrap());
        let mut run: BTreeSet<_> = KINDS.iter().map(|kind| kind.section).collect();
        run.insert("Check what you have");
        for section in page.sections.iter().filter(|section| !section.blocks.is_empty()) {
            assert!(run.contains(section.title.as_str()), "{section:?} is not run");
        }
        for kind in &KINDS {
            page.pair(kind.section).unwrap();
        }
    }
}
