//! Pages of a column, none of them with more values than there are records.

use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::RowGroupReader;

/// The library takes memory for as many values as the head of a page claims. In a damaged file that may be any number.
pub(crate) struct Bounded {
    pages: Box<dyn PageReader>,
    rows: usize,
}

impl Bounded {
    /// The pages of a column of `rows` values.
    pub(crate) fn pages(
        group: &dyn RowGroupReader,
        column: usize,
        rows: usize,
    ) -> Result<Box<dyn PageReader>> {
        Ok(Box::new(Bounded { pages: group.get_column_page_reader(column)?, rows }))
    }
}

impl PageReader for Bounded {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let page = self.pages.get_next_page()?;
        let claimed = page.as_ref().map_or(0, |page| page.num_values() as usize);
        match claimed <= self.rows {
            true => Ok(page),
            false => {
                Err(ParquetError::General(format!("a page claims {claimed} values of {} records", self.rows)))
            }
        }
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.pages.skip_next_page()
    }
}

impl Iterator for Bounded {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Result<Page>> {
        self.get_next_page().transpose()
    }
}
