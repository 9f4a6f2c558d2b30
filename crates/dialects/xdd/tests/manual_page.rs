//! The manual page in the documentation is generated from the table of options. `BLESS=1 cargo test` updates it.

use iosonar_dialect_xdd::man_page;
use std::path::Path;

#[test]
fn man_page_matches_option_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/xdd.1");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, man_page()).unwrap();
    }
    let page = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(page == man_page(), "docs/xdd.1 is not what the table gives: BLESS=1 cargo test");
}
