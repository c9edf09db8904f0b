//! The device half of warner in Rust: it reads a survey, randomises the answers of one person, keeps what
//! must be kept, and sends. docs/device_programs.md defines what it does.
//!
//! All randomness is of the operating system. Every decision compares a word of 64 bits with integers that
//! travel in the survey. Samplers: direct, bits, hash, subset, hadamard, permanent of these, and one_of. Whatever
//! else a survey asks for is refused by name.

mod device;
mod draws;
mod programs;
mod survey;

pub use device::{Device, Error};
pub use programs::{Program, Refusal};
pub use survey::{Asked, Person, Survey};

#[cfg(test)]
mod vectors;
