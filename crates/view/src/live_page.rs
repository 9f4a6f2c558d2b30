//! The page that shows a running run: it holds the report page in a frame, and replaces it by newer ones.

use crate::escape;

/// The script, built from `web/live`.
pub const SCRIPT: &str = include_str!("../../../web/dist/live.js");
/// Content security policy of the page.
pub const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; img-src data:; connect-src 'self'; \
                          frame-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";
const HTML: &str = include_str!("../../../web/live/live.html");

/// The page of the run with this name.
pub fn html(name: &str) -> String {
    HTML.replace("{name}", &escape(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_is_escaped() {
        let page = html("<script>alert(1)</script>");
        assert!(
            page.contains("&lt;script&gt;alert(1)&lt;/script&gt;") && !page.contains("<script>alert"),
            "{page}"
        );
        assert!(!page.contains("{name}"), "{page}");
    }
}
