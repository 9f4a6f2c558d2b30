//! Columns of equal values, encoded once.
//!
//! Of the columns of most runs two thirds hold the same value all along: one target, one pass, no marks, one length.
//! Encoding such a column anew for each row group would be most of what a record costs; its bytes are kept and copied
//! instead.

use crate::columns::{Field, Values};
use crate::parquet::put;
use bytes::Bytes;
use parquet::column::writer::{ColumnCloseResult, get_column_writer};
use parquet::errors::Result;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::properties::WriterPropertiesPtr;
use parquet::file::writer::{SerializedPageWriter, SerializedRowGroupWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;
use std::fs::File;

/// A column chunk as it lies in the file, with its value and number of rows.
pub(crate) struct Constant {
    value: Option<u64>,
    rows: usize,
    bytes: Bytes,
    bytes_written: u64,
    metadata: ColumnChunkMetaData,
}

impl Constant {
    /// Encodes a column of which all values are `value`.
    pub(crate) fn encode(
        field: &Field,
        values: &Values,
        value: Option<u64>,
        description: ColumnDescPtr,
        properties: WriterPropertiesPtr,
    ) -> Result<Constant> {
        let mut sink = TrackedWrite::new(Vec::new());
        let pages = Box::new(SerializedPageWriter::new(&mut sink));
        let mut column = get_column_writer(description, properties, pages);
        put(field, values, &mut column)?;
        let ColumnCloseResult { bytes_written, metadata, .. } = column.close()?;
        let bytes = Bytes::from(sink.into_inner()?);
        Ok(Constant { value, rows: values.len(), bytes, bytes_written, metadata })
    }

    /// Whether it is such a column.
    pub(crate) fn is(&self, value: Option<u64>, rows: usize) -> bool {
        (self.value, self.rows) == (value, rows)
    }

    /// Copies it into a row group, as its next column.
    pub(crate) fn write(&self, group: &mut SerializedRowGroupWriter<'_, File>) -> Result<()> {
        let close = ColumnCloseResult {
            bytes_written: self.bytes_written,
            rows_written: self.rows as u64,
            metadata: self.metadata.clone(),
            bloom_filter: None,
            column_index: None,
            offset_index: None,
        };
        group.append_column(&self.bytes, close)
    }
}
