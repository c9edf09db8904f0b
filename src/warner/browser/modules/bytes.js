// Bytes: digests, and the records of reports.

import { insist } from "./refusals.js";

/**
 * @import { Program } from "./types.js"
 */

/**
 * @param {Uint8Array} bytes
 * @returns {Promise<Uint8Array>}
 */
export async function sha256(bytes) {
  const subtle = globalThis.crypto?.subtle;
  insist(subtle, "insecure", "page", "must be loaded over HTTPS or from this machine");
  return new Uint8Array(await subtle.digest("SHA-256", new Uint8Array(bytes)));
}

/**
 * Bytes as hexadecimal digits.
 *
 * @param {Uint8Array} bytes
 */
export function hexadecimal(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** @param {string} digits two for each byte. */
export function unhex(digits) {
  return Uint8Array.from(digits.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}

/** @param {readonly Uint8Array[]} parts */
export function joined(parts) {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** @type {Readonly<Record<string, number>>} */
export const WIDTHS = { "|u1": 1, "<u2": 2, "<u4": 4, "<u8": 8 };

/**
 * The bytes of a report: its columns in their order, little endian.
 *
 * @param {Program} program
 * @param {Readonly<Record<string, readonly bigint[]>>} columns the numbers of each column.
 */
export function record(program, columns) {
  const bytes = new Uint8Array(recordLength(program));
  let at = 0;
  for (const { name, dtype } of program.columns) {
    for (let number of columns[name]) {
      for (let i = 0; i < WIDTHS[dtype]; i += 1) {
        bytes[at] = Number(number & 255n);
        number >>= 8n;
        at += 1;
      }
    }
  }
  return bytes;
}

/** @param {Program} program */
export function recordLength(program) {
  return program.columns.reduce((sum, { dtype, length }) => sum + WIDTHS[dtype] * length, 0);
}

/** @param {number} value four bytes, little endian. */
export function int32(value) {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setInt32(0, value, true);
  return bytes;
}
