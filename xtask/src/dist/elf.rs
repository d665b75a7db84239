//! Inspects an ELF binary: whether it is static, stripped and runs nothing before `main`.

use anyhow::{Context as _, Result, bail};
use object::elf::{ET_EXEC, FileHeader64, PT_DYNAMIC, PT_INTERP};
use object::read::elf::{ElfFile, FileHeader as _, ProgramHeader as _};
use object::{Endianness, Object as _, ObjectSection as _, ObjectSymbol as _, SymbolKind};

/// Functions that the C library's own start files contain: one, which does nothing here.
const KNOWN_STARTERS: u64 = 1;

/// The properties of a binary.
#[derive(Debug, PartialEq, Eq)]
pub struct ElfContents {
    /// It has a fixed address, so nothing has to be relocated at its start.
    fixed: bool,
    /// It needs a loader, or libraries.
    dynamic: bool,
    /// It still has the names of its functions.
    symbols: bool,
    /// Functions that run before `main`.
    starters: u64,
}

/// Inspects a binary for this machine's platform.
pub fn look(bytes: &[u8]) -> Result<ElfContents> {
    let header = FileHeader64::<Endianness>::parse(bytes).context("no ELF file of 64 bits")?;
    let endian = header.endian()?;
    let segments = header.program_headers(endian, bytes)?;
    let file = ElfFile::<FileHeader64<Endianness>>::parse(bytes)?;
    let size = |name| file.section_by_name(name).map_or(0, |section| section.size());
    Ok(ElfContents {
        fixed: header.e_type(endian) == ET_EXEC,
        dynamic: segments
            .iter()
            .any(|segment| matches!(segment.p_type(endian), PT_INTERP | PT_DYNAMIC)),
        symbols: file.section_by_name(".symtab").is_some(),
        starters: size(".init_array") / 8 + size(".preinit_array") / 8,
    })
}

/// Returns the size of a section; 0 if it does not exist.
pub fn section_size(bytes: &[u8], name: &str) -> Result<u64> {
    let file = ElfFile::<FileHeader64<Endianness>>::parse(bytes)?;
    Ok(file.section_by_name(name).map_or(0, |section| section.size()))
}

/// Returns the names of a binary's functions, and their addresses.
pub fn functions(bytes: &[u8]) -> Result<Vec<(String, u64)>> {
    let file = ElfFile::<FileHeader64<Endianness>>::parse(bytes)?;
    let functions = file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text);
    functions.map(|symbol| Ok((symbol.name()?.to_owned(), symbol.address()))).collect()
}

impl ElfContents {
    /// Fails unless it is what the static packages promise.
    pub fn must_be_static(&self) -> Result<()> {
        let mut faults = Vec::new();
        if !self.fixed {
            faults.push("it is position-independent".to_owned());
        }
        if self.dynamic {
            faults.push("it needs a loader or libraries".to_owned());
        }
        if self.symbols {
            faults.push("it is not stripped".to_owned());
        }
        if self.starters > KNOWN_STARTERS {
            faults.push(format!("{} functions run before `main`", self.starters));
        }
        if !faults.is_empty() {
            bail!("the static binary is not as it should be: {}", faults.join(", "));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn our_own_test_program_is_none() {
        let bytes = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let error = look(&bytes).unwrap().must_be_static().unwrap_err().to_string();
        assert!(error.contains("it needs a loader or libraries"), "{error}");
        assert!(error.contains("it is not stripped"), "{error}");
    }

    #[test]
    fn each_fault_is_named() {
        let good = ElfContents { fixed: true, dynamic: false, symbols: false, starters: 1 };
        good.must_be_static().unwrap();
        let error = ElfContents { starters: 3, ..good }.must_be_static().unwrap_err().to_string();
        assert!(error.ends_with("3 functions run before `main`"), "{error}");
    }

    #[test]
    fn what_is_no_elf_file_is_refused() {
        assert!(look(b"#!/bin/sh\n").is_err());
    }
}
