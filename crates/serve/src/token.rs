//! The secret part of the link.

use std::fmt::{self, Display};
use std::fs::File;
use std::io::{self, Read};

/// 128 random bits of the kernel.
#[derive(Clone)]
pub struct Token([u8; 16]);

impl Token {
    /// Draws a token.
    ///
    /// # Errors
    /// The kernel's random numbers cannot be read.
    pub fn random() -> io::Result<Token> {
        let mut bytes = [0; 16];
        File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        Ok(Token(bytes))
    }

    /// Whether a text is this token. The time does not depend on how many characters are right.
    pub fn is(&self, text: &str) -> bool {
        let own = self.to_string();
        let differences = own.bytes().zip(text.bytes()).fold(0, |all, (a, b)| all | (a ^ b));
        own.len() == text.len() && differences == 0
    }
}

impl Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Keeps the secret out of logs.
impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_equals_only_its_own_text() {
        let (token, other) = (Token::random().unwrap(), Token::random().unwrap());
        let text = token.to_string();
        assert!(text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit()), "{text}");
        assert!(token.is(&text) && !other.is(&text));
        assert!(!token.is("") && !token.is(&text[..31]) && !token.is(&format!("{text}0")));
        assert!(!format!("{token:?}").contains(&text));
    }
}
