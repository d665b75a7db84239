//! `cargo xtask layout`: the linker script that groups functions of the small program.
//!
//! A program's pages are loaded when they are first accessed, a few at a time, and every page fault
//! costs as much as a system call. An ordinary event needs a tenth of the program, but as compiled
//! it is scattered all over it. So a linker script that is generated here and committed puts it in
//! one place: `callgrind` reports which functions the standard dispatches call.
//!
//! The script names functions by patterns that hold for any version of the crates and the compiler.
//! A function that it does not find is no problem: the program is the same, and a little slower to
//! start.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};

use super::binary;
use super::platform::Libc;
use crate::bench::dispatches::Dispatches;
use crate::{TaskResult, Workspace, tools};

/// The path of the script in the repository.
const FILE: &str = "crates/hook/layout.ld";
/// The section for what an ordinary event needs.
pub const FIRST: &str = ".text.first";

/// What is called before `main`, or has no name that `callgrind` could report.
const OF_THE_C_LIBRARY: &str = "    *crt1.o(.text .text.*)
    *libc.a:memcpy.lo(.text .text.*)
    *libc.a:memmove.lo(.text .text.*)
    *libc.a:memset.lo(.text .text.*)
    *libc.a:__set_thread_area.lo(.text .text.*)
    *(.text.__libc_start_main .text.libc_start_main_stage2 .text.static_init_tls .text.strcmp)
";
/// Anonymous tables, which nearly every function reads, and those of crates that an ordinary event
/// uses.
const TABLES: &str = "    *(.rodata.cst4 .rodata.cst8 .rodata.cst16 .rodata.cst32)
    *(.rodata._RN*Cs*_14anyhook_engine6redact* .rodata._RN*Cs*_14anyhook_engine7journal*)
    *(.rodata._RN*Cs*_10serde_json* .rodata._RN*Cs*_4itoa* .rodata._RN*Cs*_12xxhash_rust*)
    *(.rodata..Lswitch.table*)
";

/// Regenerates the script.
pub fn run(workspace: &Workspace, arguments: &[String]) -> Result<TaskResult> {
    if !arguments.is_empty() {
        bail!("usage: cargo xtask layout");
    }
    tools::ensure_programs(&tools::FOR_COUNTING)?;
    let program = binary::build_with_names(workspace)?;
    let aliases = Aliases::of(&fs::read(&program)?)?;
    let names = called(&Dispatches::make(&program)?, &aliases)?;
    fs::write(workspace.root.join(FILE), script(&names))?;
    eprintln!("wrote {FILE}: {} functions", names.len());
    Ok(TaskResult::Good)
}

/// Returns the compiler arguments for linking the small static program.
pub fn arguments(workspace: &Workspace) -> Result<Vec<String>> {
    let path = workspace.root.join(FILE);
    let script = fs::read(&path).with_context(|| format!("{FILE} cannot be read"))?;
    // Its content is an argument, too: otherwise cargo would not notice that it has changed.
    let content = crc(&script);
    let arguments = [
        "-T".to_owned(),
        path.display().to_string(),
        format!("-Wl,--defsym=anyhook_layout={content:#x}"),
        // Tables are small, texts are large: each kind is kept together.
        "-Wl,--sort-section=alignment".to_owned(),
        // One segment to map instead of three; nothing is ever protected afterwards.
        "-Wl,-z,noseparate-code,-z,norelro".to_owned(),
    ];
    Ok(arguments.into_iter().flat_map(|one| ["-C".to_owned(), format!("link-arg={one}")]).collect())
}

/// Returns a checksum of the bytes.
fn crc(bytes: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum()
}

/// Returns the functions that the standard dispatches call, without duplicates, in the order of the
/// dispatches.
fn called(dispatches: &Dispatches, aliases: &Aliases) -> Result<Vec<String>> {
    let valgrind = tools::on_path("valgrind").context("valgrind is missing")?;
    let report: PathBuf = dispatches.report();
    let mut out = OsString::from("--callgrind-out-file=");
    out.push(&report);
    let mut seen = BTreeSet::new();
    let mut names = Vec::new();
    for dispatch in &dispatches.list {
        let flags = ["--tool=callgrind", "--demangle=no", "-q", "--trace-children=no"];
        let flags = flags.iter().map(OsStr::new).chain([out.as_os_str()]);
        dispatches.run(dispatch, Some(&valgrind), flags)?;
        let text = fs::read_to_string(&report)?;
        let found = functions(&text).flat_map(|name| aliases.all(name)).map(|name| pattern(&name));
        names.extend(found.filter(|name| seen.insert(name.clone())));
    }
    Ok(names)
}

/// Names of the same function: the compiler merges functions with the same code, and the linked one
/// has the name of any of them.
struct Aliases {
    places: BTreeMap<String, u64>,
    names: BTreeMap<u64, Vec<String>>,
}

impl Aliases {
    fn of(program: &[u8]) -> Result<Self> {
        let mut aliases = Self { places: BTreeMap::new(), names: BTreeMap::new() };
        for (name, place) in super::elf::functions(program)? {
            aliases.names.entry(place).or_default().push(name.clone());
            aliases.places.insert(name, place);
        }
        Ok(aliases)
    }

    fn all(&self, name: &str) -> Vec<String> {
        let known = self.places.get(name).and_then(|place| self.names.get(place));
        known.cloned().unwrap_or_else(|| vec![name.to_owned()])
    }
}

/// Returns the functions in a report of `callgrind`: each is named at its first occurrence.
fn functions(report: &str) -> impl Iterator<Item = &str> {
    report.lines().filter_map(|line| {
        let line = line.strip_prefix('c').unwrap_or(line).strip_prefix("fn=(")?;
        let (_, name) = line.split_once(") ")?;
        // `callgrind` lists a recursive function several times.
        let name = name.split('\'').next()?;
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'$');
        (name.bytes().all(is_name) && !name.starts_with("0x")).then_some(name)
    })
}

/// Returns a name without what differs between builds: the hashes of crates, and the numbers of
/// copies.
fn pattern(name: &str) -> String {
    let copy = name.find(".llvm.").or_else(|| {
        let (before, number) = name.rsplit_once('.')?;
        (!number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
            .then_some(before.len())
    });
    let (name, copies) = copy.map_or((name, ""), |at| (&name[..at], ".*"));
    let mut parts = name.split("Cs");
    let mut pattern = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let mark = part.bytes().take_while(u8::is_ascii_alphanumeric).count();
        let is_mark = mark > 0 && part.as_bytes().get(mark) == Some(&b'_');
        pattern.push_str("Cs");
        if is_mark {
            pattern.push('*');
        }
        pattern.push_str(if is_mark { &part[mark..] } else { part });
    }
    pattern + copies
}

/// The script for the linker.
fn script(names: &[String]) -> String {
    let each = |kind: &str| {
        let line = |name: &String| format!("    *(.{kind}.{name})\n");
        names.iter().map(line).collect::<Vec<_>>().concat()
    };
    format!(
        "/* Written by `cargo xtask layout`: what an ordinary event needs lies together. */\n\
         SECTIONS\n{{\n  {FIRST} :\n  {{\n{OF_THE_C_LIBRARY}{}  }}\n}}\nINSERT BEFORE .text;\n\
         SECTIONS\n{{\n  .rodata.first :\n  {{\n{TABLES}{}  }}\n}}\nINSERT BEFORE .rodata;\n",
        each("text"),
        each("rodata"),
    )
}

/// Checks whether a program was laid out by the script. Otherwise it would start more slowly, and
/// nothing else would show that.
pub fn must_be_in_place(bytes: &[u8]) -> Result<()> {
    let size = super::elf::section_size(bytes, FIRST)?;
    if size < 64 * 1024 {
        bail!("{FIRST} has {size} bytes: {FILE} does not find the functions any more");
    }
    Ok(())
}

/// Returns whether the layout applies to a program.
pub fn concerns(libc: Libc, program: &str) -> bool {
    cfg!(target_os = "linux") && libc == Libc::Musl && program == super::package::SMALL
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_without_what_differs_from_build_to_build() {
        let report = "fn=(12) _RNvMs_NtCs3QynLdzqT3v_14anyhook_engine6engineNtB4_6Engine6answer\n\
                      cfn=(14) memcmp\ncfn=(14)\nfn=(1) (below main)\nfn=(2) 0x0000000000633bf0\n\
                      cfn=(8) _RNvNtCs2_5alloc3fmt6format'2\nfn=(9) _RNvCsa_1b1c.llvm.123\n\
                      fn=(3) _RNvCsa_1b1d.7\n";
        let found: Vec<String> = functions(report).map(pattern).collect();
        assert_eq!(
            found,
            [
                "_RNvMs_NtCs*_14anyhook_engine6engineNtB4_6Engine6answer",
                "memcmp",
                "_RNvNtCs*_5alloc3fmt6format",
                "_RNvCs*_1b1c.*",
                "_RNvCs*_1b1d.*",
            ]
        );
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_function_has_all_its_names() {
        let aliases = Aliases {
            places: [("one".to_owned(), 1), ("two".to_owned(), 1)].into(),
            names: [(1, vec!["one".to_owned(), "two".to_owned()])].into(),
        };
        assert_eq!(aliases.all("two"), ["one", "two"]);
        assert_eq!(aliases.all("three"), ["three"]);
        let bytes = fs::read(std::env::current_exe().unwrap()).unwrap();
        let own = Aliases::of(&bytes).unwrap();
        assert!(own.places.keys().any(|name| name.contains("a_function_has_all_its_names")));
    }

    #[test]
    fn a_script_has_both_kinds_of_sections() {
        let script = script(&["memcmp".to_owned()]);
        assert!(script.contains("    *(.text.memcmp)\n"), "{script}");
        assert!(script.contains("    *(.rodata.memcmp)\n"), "{script}");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_program_without_it_is_found_out() {
        let bytes = fs::read(std::env::current_exe().unwrap()).unwrap();
        let error = must_be_in_place(&bytes).unwrap_err().to_string();
        assert!(error.starts_with(".text.first has 0 bytes"), "{error}");
    }
}
