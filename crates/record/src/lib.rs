//! From the issuing loop to the archive, through bounded memory
