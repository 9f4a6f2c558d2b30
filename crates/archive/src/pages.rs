//! Pages of a column, limited to the values of a row group.

use crate::ROW_GROUP;
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::RowGroupReader;

/// The library allocates memory for as many values as the header of a page claims, which in a damaged file may be any
/// number. (A dictionary may hold more names than there are records, but not that many.)
pub(crate) struct Bounded(Box<dyn PageReader>);

impl Bounded {
    /// Returns the pages of a column.
    pub(crate) fn pages(group: &dyn RowGroupReader, column: usize) -> Result<Box<dyn PageReader>> {
        Ok(Box::new(Bounded(group.get_column_page_reader(column)?)))
    }
}

impl PageReader for Bounded {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let page = self.0.get_next_page()?;
        let claimed = page.as_ref().map_or(0, |page| page.num_values() as usize);
        match claimed <= ROW_GROUP {
            true => Ok(page),
            false => Err(ParquetError::General(format!("a page claims {claimed} values"))),
        }
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.0.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.0.skip_next_page()
    }
}

impl Iterator for Bounded {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Result<Page>> {
        self.get_next_page().transpose()
    }
}
