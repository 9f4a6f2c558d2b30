//! Draws a summary: diagrams as PNG and SVG, one HTML page, the live view.
//!
//! This room draws. Every figure and every count comes from `analyze`; here they are only placed, scaled and
//! coloured.

mod charts;
mod data;
mod density;
pub mod fonts;
pub mod live;
pub mod live_page;
mod machine_lanes;
pub mod palette;
mod plot;
mod raster;
pub mod report;
pub mod scene;
mod statement;
mod study_page;
mod svg;

pub use charts::{
    CompareMaterial, ComparePicture, Headline, KneeMaterial, LayoutOverview, LayoutRow, Material, MatrixGrid,
    MatrixMaterial, NOT_DRAWN, Picture, Plateau, RunMaterial, Subject, change_svg, compare_subject, heat_svg,
    knee_svg, layout_overview, layout_picture, layout_svg, matrix_range, plot_compare, plot_knee,
    plot_matrix,
};
pub use data::{DataOptions, data_files, data_stems, write_data, write_data_files};
pub use iosonar_text::units;
pub use palette::Theme;
pub use plot::{Folder, Format, PlotOptions, Plotted, Scale, Style, picture_files, plot};
pub use raster::png;
pub use study_page::{
    ComparedMaps, MatrixCell, MatrixComparisonPart, MatrixPage, StudyPage, StudyRun, StudyTable, TableCell,
    TableColumn, TableRow, matrix_comparison_page, matrix_page, study_page,
};
pub use svg::{escape, svg};
