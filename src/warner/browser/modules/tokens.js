// Blind tokens: an invitation code is exchanged for a token that nobody can connect with the code.
//
// RSABSSA-SHA384-PSS-Randomized of RFC 9474. The issuer signs a number that is covered by a random
// factor, and so uniform whatever stands below it. What a device draws for that stays on it.

import { joined, unhex } from "./bytes.js";
import { insist } from "./refusals.js";
import { plainCode } from "./submissions.js";

/**
 * @import { Survey } from "./types.js"
 */

const PREFIX = 32;
const SALT = 48;

/** @param {string} text in ASCII. */
function ascii(text) {
  return new TextEncoder().encode(text);
}

/** @param {Uint8Array} bytes the highest byte first. */
function numberOf(bytes) {
  return bytes.reduce((number, byte) => (number << 8n) | BigInt(byte), 0n);
}

/**
 * @param {bigint} number
 * @param {number} length
 */
function bytesOf(number, length) {
  return unhex(number.toString(16).padStart(2 * length, "0"));
}

/** @param {Uint8Array} bytes */
async function sha384(bytes) {
  const subtle = globalThis.crypto?.subtle;
  insist(subtle, "insecure", "page", "must be loaded over HTTPS or from this machine");
  return new Uint8Array(await subtle.digest("SHA-384", new Uint8Array(bytes)));
}

/**
 * EMSA-PSS of a message, for a modulus of whole bytes (RFC 8017, 9.1.1).
 *
 * @param {Uint8Array} message
 * @param {Uint8Array} salt
 * @param {number} length
 */
async function encoded(message, salt, length) {
  const digest = await sha384(joined([new Uint8Array(8), await sha384(message), salt]));
  const room = length - digest.length - 1;
  const padded = new Uint8Array(room);
  padded[room - salt.length - 1] = 1;
  padded.set(salt, room - salt.length);
  for (let i = 0; i * digest.length < room; i += 1) {
    const mask = await sha384(joined([digest, new Uint8Array([0, 0, 0, i])]));
    mask.slice(0, room - i * digest.length).forEach((byte, j) => {
      padded[i * digest.length + j] ^= byte;
    });
  }
  padded[0] &= 127;
  return numberOf(joined([padded, digest, new Uint8Array([188])]));
}

/**
 * @param {bigint} base
 * @param {bigint} modulus
 */
function raised(base, modulus) {
  let power = base;
  for (let i = 0; i < 16; i += 1) power = (power * power) % modulus;
  return (power * base) % modulus; // 65,537 = 2^16 + 1
}

/**
 * @param {bigint} number
 * @param {bigint} modulus
 */
function inverse(number, modulus) {
  let [a, b, x, y] = [number, modulus, 1n, 0n];
  while (b > 0n) [a, b, x, y] = [b, a % b, y, x - (a / b) * y];
  return ((x % modulus) + modulus) % modulus;
}

/** @param {string} key of a survey. */
function bytesOfKey(key) {
  const letters = atob(`${key.replaceAll("-", "+").replaceAll("_", "/")}==`);
  return Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
}

/**
 * The key with which the issuer signs for a block of questions.
 *
 * @param {Survey} survey
 * @param {number} [block] what was drawn; 0 where everybody is asked everything.
 */
function keyOf(survey, block = 0) {
  insist(survey.tokens, "malformed", "survey.access", "must be tokens");
  return bytesOfKey(survey.tokens.keys[block]);
}

/**
 * What a device draws for its token: draw it once, keep it before the code is exchanged, and
 * nowhere else. With it the token can be had again, and be connected with the code.
 *
 * @param {Survey} survey
 * @param {number} [block]
 * @returns {Uint8Array} the prefix, the salt and the factor.
 */
export function drawBlinding(survey, block) {
  const key = keyOf(survey, block);
  const modulus = numberOf(key);
  const drawn = new Uint8Array(PREFIX + SALT + key.length);
  let factor = 0n;
  while (factor === 0n || factor >= modulus) {
    crypto.getRandomValues(drawn);
    factor = numberOf(drawn.slice(PREFIX + SALT));
  }
  return drawn;
}

/**
 * The number that is signed for a message, after its random prefix, and before it is covered.
 *
 * @param {Uint8Array} key
 * @param {Uint8Array} message
 * @param {Uint8Array} drawn
 */
function signedNumber(key, message, drawn) {
  const [prefix, salt] = [drawn.slice(0, PREFIX), drawn.slice(PREFIX, PREFIX + SALT)];
  return encoded(joined([prefix, message]), salt, key.length);
}

/**
 * Blind of RFC 9474: what the issuer is asked to sign.
 *
 * @param {Uint8Array} key the modulus.
 * @param {Uint8Array} message
 * @param {Uint8Array} drawn the prefix, the salt and the factor.
 * @returns {Promise<Uint8Array>}
 */
export async function blind(key, message, drawn) {
  const modulus = numberOf(key);
  const cover = raised(numberOf(drawn.slice(PREFIX + SALT)), modulus);
  return bytesOf((await signedNumber(key, message, drawn) * cover) % modulus, key.length);
}

/**
 * Finalize of RFC 9474: the signature, which is refused where it is not of this key.
 *
 * @param {Uint8Array} key
 * @param {Uint8Array} message
 * @param {Uint8Array} drawn
 * @param {Uint8Array} signed what the issuer has made of the number that is covered.
 * @returns {Promise<Uint8Array>}
 */
export async function finalize(key, message, drawn, signed) {
  const modulus = numberOf(key);
  const factor = numberOf(drawn.slice(PREFIX + SALT));
  const signature = (numberOf(signed) * inverse(factor, modulus)) % modulus;
  // The number is computed from the message anew, which is what checking a signature means.
  const right = raised(signature, modulus) === await signedNumber(key, message, drawn);
  insist(right, "malformed", "token", "must be signed with the key that everybody has");
  return bytesOf(signature, key.length);
}

/** What a token of a survey says, after its random prefix. @param {Survey} survey */
function messageOf({ study }) {
  return joined([ascii("warner token\n"), unhex(study)]);
}

/**
 * The body that asks the issuer to sign, for `POST /token`.
 *
 * @param {Survey} survey
 * @param {string} code
 * @param {Uint8Array} drawn what `drawBlinding` returned.
 * @param {number} [block]
 * @returns {Promise<Uint8Array>}
 */
export async function tokenRequest(survey, code, drawn, block) {
  const plain = plainCode(code);
  insist(plain !== null, "code", "code", "must be 16 letters and digits, as in the invitation");
  const covered = await blind(keyOf(survey, block), messageOf(survey), drawn);
  return joined([ascii("WRNB"), unhex(survey.layout), ascii(plain), covered]);
}

/**
 * The token, from what the issuer has signed. One that was signed with another key than everybody's
 * is refused: it could be recognised.
 *
 * @param {Survey} survey
 * @param {Uint8Array} drawn
 * @param {string} signed hexadecimal digits.
 * @param {number} [block]
 * @returns {Promise<Uint8Array>}
 */
export async function tokenOf(survey, drawn, signed, block) {
  const signature = await finalize(
    keyOf(survey, block), messageOf(survey), drawn, unhex(signed));
  return joined([drawn.slice(0, PREFIX), signature]);
}
