//! Prints elements of a tensor as text, with the brackets of its dimensions.

use std::io::{self, Write};

/// The layout of elements and brackets.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// One row per line, with an empty line between matrices, as numpy prints it.
    Lines,
    /// Everything on one line.
    Line,
}

/// Writes elements one by one, the last axis varying fastest.
pub struct Nested<'w, W> {
    out: &'w mut W,
    layout: Layout,
    dims: Vec<u64>,
    /// The index of the next element.
    at: Vec<u64>,
    has_begun: bool,
}

impl<'w, W: Write> Nested<'w, W> {
    pub fn new(out: &'w mut W, layout: Layout, dims: &[u64]) -> Self {
        Self { out, layout, dims: dims.to_vec(), at: vec![0; dims.len()], has_begun: false }
    }

    /// Writes the next element, and the brackets that close after it.
    pub fn element(&mut self, text: &str) -> io::Result<()> {
        let opened = self.at.iter().rev().take_while(|at| **at == 0).count();
        if self.has_begun {
            self.separate(opened)?;
        }
        self.has_begun = true;
        write!(self.out, "{}{text}", "[".repeat(opened))?;
        let closed = self.advance();
        write!(self.out, "{}", "]".repeat(closed))
    }

    fn separate(&mut self, opened: usize) -> io::Result<()> {
        match self.layout {
            Layout::Line => write!(self.out, ","),
            Layout::Lines if opened == 0 => write!(self.out, ", "),
            Layout::Lines => {
                write!(self.out, ",{}{}", "\n".repeat(opened), " ".repeat(self.dims.len() - opened))
            }
        }
    }

    /// The number of axes at their end.
    fn advance(&mut self) -> usize {
        let mut closed = 0;
        for (at, dim) in self.at.iter_mut().zip(&self.dims).rev() {
            *at += 1;
            if *at < *dim {
                break;
            }
            *at = 0;
            closed += 1;
        }
        closed
    }

    /// A tensor without elements has brackets too.
    pub fn finish(self) -> io::Result<()> {
        if self.has_begun { Ok(()) } else { write!(self.out, "[]") }
    }
}
