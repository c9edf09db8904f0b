// NOT COMPILED AND NOT RUN by the project: there is no Swift compiler where warner is built. Read it as a
// text that translates ../kotlin, which is tested. Before anybody's answer goes through it, compile it, and
// let it pass the known answers of tests/vectors: samplers.json, programs.json, encodings.json, finite.json and
// rounds.json, with the words of each case in the place of `systemWord`. ../kotlin/Vectors.kt shows how.
//
// The device half of warner in Swift, for Apple's systems. docs/device_programs.md defines what it does.
// Samplers: direct, bits, hash, subset, hadamard, and permanent of these. Whatever else a survey asks for is
// refused by name, also one that draws its questions.

import CryptoKit
import Foundation

/// Why a survey, an answer or a person is refused. No message holds an answer.
public struct Refusal: Error {
    public let code, place, rule: String
}

func require(_ holds: Bool, _ code: String, _ place: String, _ rule: String) throws {
    if !holds { throw Refusal(code: code, place: place, rule: rule) }
}

// Random words, and decisions on them.

/// Uniform integers of 64 bits. Tests list them; whatever is sent is drawn by `systemWord`.
typealias Words = () -> UInt64

func systemWord() -> UInt64 {
    var generator = SystemRandomNumberGenerator() // of the operating system
    return generator.next()
}

func randomBytes(_ count: Int) -> Data {
    Data((0..<count).map { _ in UInt8(truncatingIfNeeded: systemWord()) })
}

func uniform(_ next: Words, _ bound: UInt64) -> UInt64 {
    if bound == 1 { return 0 }
    let width = bound.dividingFullWidth((1, 0)).quotient // of 2^64
    while true {
        let found = next() / width
        if found < bound { return found }
    }
}

/// min(u / width, count) of a word u below count width + last, which is at most 2^64.
func cell(_ next: Words, _ width: UInt64, _ count: UInt64, _ last: UInt64) -> UInt64 {
    let total = count &* width &+ last // 0 for 2^64, which no word reaches
    var u = next()
    while total != 0 && u >= total { u = next() }
    return min(u / width, count)
}

func drawnBits(_ next: Words, _ threshold: UInt64, _ count: Int) -> [Bool] {
    (0..<count).map { _ in next() < threshold }
}

/// A uniform subset of 0..total-1 by Floyd's algorithm; with `complement`, what is not in it is drawn.
func members(_ next: Words, _ total: UInt64, _ members: UInt64, _ complement: Bool) -> [Bool] {
    let count = complement ? total - members : members
    var chosen = [Bool](repeating: false, count: Int(total))
    for top in (total - count)..<total {
        let drawn = Int(uniform(next, top + 1))
        chosen[chosen[drawn] ? Int(top) : drawn] = true
    }
    return chosen.map { $0 != complement }
}

/// The bytes of bits: the first one is the highest bit of the first byte.
func packed(_ ones: [Bool]) -> Data {
    var record = Data(count: (ones.count + 7) / 8)
    for (i, one) in ones.enumerated() where one { record[i / 8] |= 128 >> UInt8(i % 8) }
    return record
}

func bytes(_ number: UInt64, _ width: Int) -> Data {
    Data((0..<width).map { UInt8(truncatingIfNeeded: number >> UInt64(8 * $0)) })
}

// Integers of any length, which Swift lacks: limbs of 32 bits, the lowest first, without leading zeros.

struct Big: Comparable {
    var limbs: [UInt32]

    init(limbs: [UInt32]) {
        self.limbs = limbs
        while self.limbs.last == 0 { self.limbs.removeLast() }
    }

    init(_ word: UInt64) { self.init(limbs: [UInt32(truncatingIfNeeded: word), UInt32(word >> 32)]) }

    /// Of hexadecimal digits; nil where one is none.
    init?(hex: Substring) {
        var limbs: [UInt32] = []
        var end = hex.endIndex
        while end > hex.startIndex {
            let start = hex.index(end, offsetBy: -8, limitedBy: hex.startIndex) ?? hex.startIndex
            guard let limb = UInt32(hex[start..<end], radix: 16) else { return nil }
            limbs.append(limb)
            end = start
        }
        self.init(limbs: limbs)
    }

    static let range = Big(limbs: [0, 0, 1]) // 2^64

    var word: UInt64? {
        if limbs.count > 2 { return nil }
        return limbs.enumerated().reduce(0) { $0 | UInt64($1.element) << UInt64(32 * $1.offset) }
    }

    var double: Double { limbs.reversed().reduce(0.0) { $0 * 4294967296 + Double($1) } }

    static func < (a: Big, b: Big) -> Bool {
        if a.limbs.count != b.limbs.count { return a.limbs.count < b.limbs.count }
        return a.limbs.reversed().lexicographicallyPrecedes(b.limbs.reversed())
    }

    static func + (a: Big, b: Big) -> Big {
        var (sum, carry) = ([UInt32](), UInt64(0))
        for i in 0...max(a.limbs.count, b.limbs.count) {
            carry += UInt64(i < a.limbs.count ? a.limbs[i] : 0) + UInt64(i < b.limbs.count ? b.limbs[i] : 0)
            sum.append(UInt32(truncatingIfNeeded: carry))
            carry >>= 32
        }
        return Big(limbs: sum)
    }

    /// Of a that is not below b.
    static func - (a: Big, b: Big) -> Big {
        var (difference, borrow) = ([UInt32](), Int64(0))
        for i in 0..<a.limbs.count {
            borrow += Int64(a.limbs[i]) - Int64(i < b.limbs.count ? b.limbs[i] : 0)
            difference.append(UInt32(truncatingIfNeeded: borrow))
            borrow >>= 32
        }
        return Big(limbs: difference)
    }

    static func * (a: Big, b: Big) -> Big {
        var product = [UInt32](repeating: 0, count: a.limbs.count + b.limbs.count)
        for i in 0..<a.limbs.count {
            var carry: UInt64 = 0
            for j in 0..<b.limbs.count {
                carry += UInt64(a.limbs[i]) * UInt64(b.limbs[j]) + UInt64(product[i + j])
                product[i + j] = UInt32(truncatingIfNeeded: carry)
                carry >>= 32
            }
            product[i + b.limbs.count] = UInt32(carry)
        }
        return Big(limbs: product)
    }
}

func rest(_ word: UInt64) -> Big { Big.range - Big(word) }

/// A ratio of likelihoods.
struct Ratio {
    let numerator, denominator: Big

    init(_ numerator: Big, _ denominator: Big) { (self.numerator, self.denominator) = (numerator, denominator) }

    func exceeds(_ other: Ratio) -> Bool { other.numerator * denominator < numerator * other.denominator }

    var larger: Ratio { numerator < denominator ? Ratio(denominator, numerator) : self }

    /// The epsilon of these odds, which are at least 1.
    var nats: Double { log1p((numerator - denominator).double / denominator.double) }
}

// Programs.

/// JSON data, in which true is no number.
public enum JSON: Decodable, Equatable {
    case null, bool(Bool), number(Double), text(String), list([JSON]), object([String: JSON])

    public init(from decoder: Decoder) throws {
        let one = try decoder.singleValueContainer()
        if one.decodeNil() { self = .null }
        else if let value = try? one.decode(Bool.self) { self = .bool(value) }
        else if let value = try? one.decode(Double.self) { self = .number(value) }
        else if let value = try? one.decode(String.self) { self = .text(value) }
        else if let value = try? one.decode([JSON].self) { self = .list(value) }
        else { self = .object(try one.decode([String: JSON].self)) }
    }

    subscript(key: String) -> JSON { object[key] ?? .null }
    var object: [String: JSON] { if case .object(let value) = self { return value } else { return [:] } }
    var list: [JSON] { if case .list(let value) = self { return value } else { return [] } }
    var text: String? { if case .text(let value) = self { return value } else { return nil } }
    var number: Double? { if case .number(let value) = self, value.isFinite { return value } else { return nil } }
    var bool: Bool? { if case .bool(let value) = self { return value } else { return nil } }

    /// An integer between -2^53 and 2^53.
    var whole: Int64? {
        guard let value = number, value == value.rounded(), abs(value) < 9007199254740992 else { return nil }
        return Int64(value)
    }

    /// A text that does not depend on the order of keys.
    var canonical: String {
        switch self {
        case .null: return "null"
        case .bool(let value): return String(value)
        case .number(let value): return String(value)
        case .text(let value): return String(reflecting: value)
        case .list(let value): return "[" + value.map { $0.canonical }.joined(separator: ",") + "]"
        case .object(let value):
            return "{" + value.keys.sorted().map { "\($0):\(value[$0]!.canonical)" }.joined(separator: ",") + "}"
        }
    }
}

/// Reads the entries of one object, and refuses it where one is left that nobody reads.
final class Entries {
    let data: JSON, place: String
    var read: Set<String> = ["format", "sampler", "answer", "columns"]

    init(_ data: JSON, _ place: String) { (self.data, self.place) = (data, place) }

    func integer(_ key: String) throws -> Big {
        read.insert(key)
        var found: Big?
        let safe = Big(1 << 53)
        if let text = data[key].text, text.hasPrefix("0x"), !text.hasPrefix("0x0"),
            text.dropFirst(2).allSatisfy({ "0123456789abcdef".contains($0) }), text.count > 2 {
            found = Big(hex: text.dropFirst(2)).flatMap { $0 < safe ? nil : $0 }
        } else if let value = data[key].whole, value >= 0 {
            found = Big(UInt64(value))
        }
        try require(found != nil, "malformed", "\(place).\(key)", "must be a number below 2^53, or a hexadecimal text")
        return found!
    }

    /// A number of values, bits or columns.
    func count(_ key: String) throws -> UInt64 {
        let found = try integer(key)
        try require(found < Big(1 << 53), "malformed", "\(place).\(key)", "must be below 2^53")
        return found.word!
    }

    func ratio(_ key: String) throws -> (Entries, Ratio) {
        read.insert(key)
        let fraction = Entries(data[key], "\(place).\(key)")
        let found = Ratio(try fraction.integer("numerator"), try fraction.integer("denominator"))
        let positive = found.numerator > Big(0) && found.denominator > Big(0)
        try require(positive, "malformed", fraction.place, "must be positive")
        return (fraction, found)
    }

    func law(_ holds: Bool, _ rule: String) throws { try require(holds, "not_a_law", place, rule) }

    /// An integer of a law that is one of 1..2^64-1.
    func word(_ number: Big) throws -> UInt64 {
        try law(number > Big(0) && number < Big.range, "must have integers of 1 to 2^64 - 1")
        return number.word!
    }
}

struct Column {
    let name: String, width, length: Int // the bytes of a number, and how many numbers

    /// Of the integers 0..m-1.
    static func numbers(_ name: String, _ m: UInt64) -> Column {
        Column(name: name, width: [1, 2, 4].first { m <= 1 << UInt64(8 * $0) } ?? 8, length: 1)
    }
}

/// Randomised response among values 0..size-1.
struct Widths {
    let size, own, other: UInt64

    init(_ e: Entries, _ size: UInt64, _ own: Big, _ other: Big) throws {
        try e.law(size >= 2, "must have two values or more")
        (self.size, self.own, self.other) = (size, try e.word(own), try e.word(other))
        try e.law(!(Big.range < own + Big(size - 1) * other), "own + (size - 1) other must be at most 2^64")
    }

    func draw(_ index: UInt64, _ next: Words) -> UInt64 {
        let drawn = cell(next, other, size - 1, own)
        return drawn == size - 1 ? index : drawn < index ? drawn : drawn + 1
    }
}

func mix(_ word: UInt32) -> UInt32 {
    var h = (word ^ (word >> 16)) &* 0x7feb352d
    h = (h ^ (h >> 15)) &* 0x846ca68b
    return h ^ (h >> 16)
}

indirect enum Sampler {
    case direct(Widths)
    case bits(keep: UInt64, raised: UInt64)
    case hash(Widths, m: UInt64, bySeed: Bool)
    case subset(members: UInt64, include: UInt64)
    case hadamard(order: UInt64, agree: UInt64)
    case permanent(memo: Program, keep: UInt64, coin: UInt64?)
}

/// A device program whose integers were read and checked. It takes an index below `size`.
public struct Program {
    public let size: UInt64
    let sampler: Sampler

    /// Checks a device program: its law, its columns and its odds.
    public init(_ data: JSON, _ place: String = "program") throws {
        guard case .object = data else { throw Refusal(code: "malformed", place: place, rule: "must be a program") }
        try require(data["format"] == .number(1), "unknown_format", place, "must have the format 1")
        let name = data["sampler"].text ?? ""
        let e = Entries(data, place)
        let known = ["direct", "bits", "hash", "subset", "hadamard", "permanent"].contains(name)
        try require(known, "unknown_sampler", place, "must name a sampler that this client knows")
        size = try e.count("size")
        let keys = ["direct": ["own", "other"], "bits": ["keep", "raised"], "hash": ["own", "other"],
                    "subset": ["include"], "hadamard": ["agree"], "permanent": ["keep"]][name]!
        let words = try keys.map { try e.integer($0) }
        var counts: [UInt64] = []
        if name == "subset" { counts = [try e.count("members")] }
        if name == "hadamard" { counts = [try e.count("order")] }
        if name == "hash" {
            counts = [try e.count("buckets"), try e.count("family")]
            counts.append(try e.count(counts[1] == 1 ? "seeds" : "prime"))
        }
        if name == "permanent" { e.read.insert("memo") }
        let coin = name == "permanent" && data.object["coin"] != nil ? try e.integer("coin") : nil
        let (fraction, stated) = try e.ratio("odds")
        let power = try fraction.integer("power")
        let (_, most) = try e.ratio("odds_at_most")
        try require(data["answer"].text == "index", "malformed", place, "must have its kind of answers")
        try require(e.read.isSuperset(of: data.object.keys), "malformed", place, "must have the entries of its sampler")
        sampler = try Program.law(name, e, size, counts, words, coin)
        let listed = data["columns"].list
        let right = listed.count == columns.count && zip(listed, columns).allSatisfy { given, column in
            let dtype = [1: "|u1", 2: "<u2", 4: "<u4", 8: "<u8"][column.width]
            return given["name"].text == column.name && given["dtype"].text == dtype
                && given["length"].whole == Int64(column.length)
        }
        try require(right, "columns_differ", place, "must have the columns of its sampler")
        let odds = self.odds
        let same = !stated.exceeds(odds) && !odds.exceeds(stated) && fraction.data["between"].text == "any"
        try require(same && power == Big(1), "odds_differ", place, "must be the odds of its integers")
        try require(!stated.exceeds(most), "odds_exceed", place, "must have odds of at most odds_at_most")
    }

    private static func law(
        _ name: String, _ e: Entries, _ size: UInt64, _ counts: [UInt64], _ words: [Big], _ coin: Big?
    ) throws -> Sampler {
        try e.law(size >= 2, "must have two values or more")
        switch name {
        case "bits":
            try e.law(words[1] < words[0], "must have 1 <= raised < keep < 2^64")
            return .bits(keep: try e.word(words[0]), raised: try e.word(words[1]))
        case "hash":
            let (buckets, family, m) = (counts[0], counts[1], counts[2])
            try e.law(buckets >= 2 && buckets < 1 << 16, "must have 2 <= buckets < 2^16")
            try e.law(family == 1 || family == 2, "must have the family 1 or 2")
            let right = family == 1 ? m >= 1 && m < 1 << 32 : m >= size && m < 1 << 27
            try e.law(right, "must have 1 <= seeds < 2^32, or size <= prime < 2^27")
            return .hash(try Widths(e, buckets, words[0], words[1]), m: m, bySeed: family == 1)
        case "subset":
            try e.law(counts[0] >= 1 && counts[0] < size, "must have 1 <= members < size")
            return .subset(members: counts[0], include: try e.word(words[0]))
        case "hadamard":
            let order = counts[0]
            try e.law(order > size && order & (order - 1) == 0, "must have an order that is a power of two above size")
            return .hadamard(order: order, agree: try e.word(words[0]))
        case "permanent":
            let memo = try Program(e.data["memo"], e.place + ".memo")
            var (isBits, isWhole) = (false, true)
            if case .bits = memo.sampler { isBits = true }
            if case .permanent = memo.sampler { isWhole = false }
            try e.law(isWhole && memo.size == size, "must have a memo of as many values that can be degraded")
            try e.law((coin != nil) == isBits, "must have a coin for bits alone")
            let speaks = isBits || memo.levels.likelier.denominator < memo.levels.likelier.numerator
            try e.law(speaks, "must have a memo whose reports speak for their values")
            return .permanent(memo: memo, keep: try e.word(words[0]), coin: try coin.map { try e.word($0) })
        default:
            return .direct(try Widths(e, size, words[0], words[1]))
        }
    }

    var columns: [Column] {
        switch sampler {
        case .direct: return [.numbers("report", size)]
        case .bits, .subset: return [Column(name: "bits", width: 1, length: Int((size + 7) / 8))]
        case .hash(let widths, let m, let bySeed):
            let function: [Column] = bySeed ? [.numbers("seed", m)] : [.numbers("multiplier", m - 1), .numbers("shift", m)]
            return function + [.numbers("bucket", widths.size)]
        case .hadamard(let order, _): return [.numbers("report", order)]
        case .permanent(let memo, _, _): return memo.columns
        }
    }

    var length: Int { columns.map { $0.width * $0.length }.reduce(0, +) }

    /// Of inside + outside reports, up to a factor, those that support a value, and how much likelier they are.
    var levels: (inside: UInt64, outside: UInt64, likelier: Ratio) {
        switch sampler {
        case .direct(let w), .hash(let w, _, _): return (1, w.size - 1, Ratio(Big(w.own), Big(w.other)))
        case .subset(let d, let include):
            return (d, size - d, Ratio(Big(include) * Big(size - d), Big(d) * rest(include)))
        case .hadamard(_, let agree): return (1, 1, Ratio(Big(agree), rest(agree)))
        case .bits, .permanent: preconditionFailure("has no levels")
        }
    }

    var odds: Ratio {
        switch sampler {
        case .bits(let keep, let raised): return Ratio(Big(keep) * rest(raised), Big(raised) * rest(keep))
        case .permanent(let memo, let keep, let coin):
            if case .bits(let own, let raised) = memo.sampler {
                let whole = Big.range * Big.range
                let chance = { (bit: UInt64) in Big(keep) * Big(bit) + rest(keep) * Big(coin!) }
                let (high, low) = (chance(own), chance(raised))
                return Ratio(high * (whole - low), low * (whole - high))
            }
            let (inside, outside, likelier) = memo.levels
            let uniform = rest(keep) * (Big(inside) * likelier.numerator + Big(outside) * likelier.denominator)
            let of = { (likelihood: Big) in Big(keep) * likelihood * (Big(inside) + Big(outside)) + uniform }
            return Ratio(of(likelier.numerator), of(likelier.denominator))
        default: return levels.likelier.larger
        }
    }

    /// A function of local hashing as it is sent, and the bucket of a value by it.
    private func choose(_ index: UInt64, _ next: Words) -> (Data, UInt64) {
        guard case .hash(let widths, let m, let bySeed) = sampler else { preconditionFailure("does not hash") }
        if bySeed {
            let seed = uniform(next, m)
            let key = mix(UInt32(truncatingIfNeeded: seed) &* 0x9e3779b1 &+ 0x7f4a7c15)
            let hashed = mix(key ^ (UInt32(truncatingIfNeeded: index) &* 0x85ebca77)) >> 16
            return (bytes(seed, columns[0].width), (UInt64(hashed) * widths.size) >> 16)
        }
        let multiplier = uniform(next, m - 1)
        let shift = uniform(next, m)
        let cube = index * index % m * index % m
        let function = bytes(multiplier, columns[0].width) + bytes(shift, columns[1].width)
        return (function, ((multiplier + 1) * cube + shift) % m % widths.size)
    }

    func draw(_ index: UInt64, _ next: Words) -> Data {
        switch sampler {
        case .direct(let widths): return bytes(widths.draw(index, next), length)
        case .bits(let keep, let raised):
            var ones = Array(drawnBits(next, raised, 8 * length).prefix(Int(size)))
            ones[Int(index)] = next() < keep
            return packed(ones)
        case .hash(let widths, _, _):
            let (function, bucket) = choose(index, next)
            return function + bytes(widths.draw(bucket, next), columns.last!.width)
        case .subset(let d, let include):
            let included = next() < include
            var chosen = members(next, size - 1, included ? d - 1 : d, 2 * d > size)
            chosen.append(index < size - 1 && chosen[Int(index)]) // the last value stood there
            chosen[Int(index)] = included
            return packed(chosen)
        case .hadamard(let order, let agree):
            let y = uniform(next, order)
            let row = index + 1
            let agrees = (y & row).nonzeroBitCount % 2 == 0
            return bytes((next() < agree) == agrees ? y : y ^ (row & (0 &- row)), length)
        case .permanent(let memo, _, _):
            let kept = memo.draw(index, next)
            return degrade(kept, next)
        }
    }

    /// A uniform report.
    private func fresh(_ next: Words) -> Data {
        switch sampler {
        case .direct: return bytes(uniform(next, size), length)
        case .hash(let widths, _, _):
            let function = choose(0, next).0
            return function + bytes(uniform(next, widths.size), columns.last!.width)
        case .subset(let d, _): return packed(members(next, size, d, 2 * d > size + 1))
        case .hadamard(let order, _): return bytes(uniform(next, order), length)
        case .bits, .permanent: preconditionFailure("is not kept as a whole")
        }
    }

    /// One round of a permanent report.
    func degrade(_ kept: Data, _ next: Words) -> Data {
        guard case .permanent(let memo, let keep, let coin) = sampler else { preconditionFailure("is not permanent") }
        if let coin = coin {
            let stays = drawnBits(next, keep, 8 * kept.count)
            let coins = drawnBits(next, coin, 8 * kept.count)
            let bits = [UInt8](kept)
            return packed((0..<Int(size)).map { stays[$0] ? bits[$0 / 8] >> UInt8(7 - $0 % 8) & 1 == 1 : coins[$0] })
        }
        let stays = next() < keep
        let fresh = memo.fresh(next) // in any case, so that the words do not tell whether it stays
        return stays ? kept : fresh
    }
}
