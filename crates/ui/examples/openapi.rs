//! Prints the description of the HTTP API: `openapi.json`.

fn main() -> std::io::Result<()> {
    let description = anyhook_ui::api::openapi::describe();
    let text = serde_json::to_string_pretty(&description)?;
    std::io::Write::write_all(&mut std::io::stdout(), format!("{text}\n").as_bytes())
}
