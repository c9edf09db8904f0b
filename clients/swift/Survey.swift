// NOT COMPILED AND NOT RUN by the project; see Warner.swift.

import CryptoKit
import Foundation

private func malformed(_ holds: Bool, _ place: String, _ rule: String) throws {
    try require(holds, "malformed", "survey.\(place)", rule)
}

private func positive(_ value: JSON, _ place: String) throws -> Double {
    try malformed((value.number ?? 0) > 0, place, "must be a number above 0")
    return value.number!
}

private func checkText(_ value: JSON, _ languages: [String], _ place: String) throws {
    try malformed(languages.allSatisfy { value[$0].text != nil }, place, "must have a text in each language")
}

private func pair(_ value: JSON) -> (Int64, Int64)? {
    guard value.list.count == 2, let row = value.list[0].whole, let column = value.list[1].whole else { return nil }
    return (row, column)
}

/// The cells of a grid that are no values, by row * columns + column; nil where they are none.
private func leftOut(_ domain: JSON) -> [Int64]? {
    guard let columns = domain["columns"].whole else { return nil }
    if case .object(let entries) = domain, let without = entries["without"] {
        guard case .list(let listed) = without else { return nil }
        let cells = listed.compactMap { pair($0).map { $0.0 * columns + $0.1 } }
        return cells.count == listed.count ? cells : nil
    }
    return []
}

/// Checks a domain, and returns how many values it has.
func sizeOf(_ domain: JSON, _ place: String) throws -> UInt64 {
    let kind = domain["kind"].text
    try require(kind != "dates", "unknown_domain", place, "has dates, which this client does not know")
    var size: Double?
    if kind == "categorical" {
        let values = domain["values"].list
        let labels = values.allSatisfy { $0.text != nil || $0.bool != nil || $0.whole != nil }
        let different = Set(values.map { $0.canonical }).count == values.count
        size = labels && different ? Double(values.count) : nil
    } else if kind == "integers", let low = domain["low"].whole, let high = domain["high"].whole {
        size = Double(high) - Double(low) + 1
    } else if kind == "interval", let low = domain["low"].number, let high = domain["high"].number, low < high,
        domain.object["clip"] == nil || domain["clip"].bool != nil {
        size = domain["bins"].whole.map { Double($0) }
    } else if kind == "grid", let rows = domain["rows"].whole, let columns = domain["columns"].whole,
        let without = leftOut(domain) {
        size = Double(rows) * Double(columns) - Double(without.count)
    }
    try require(size != nil, "malformed", place, "must be a domain that this client knows")
    try require(size! >= 2 && size! <= 67108864, "malformed", place, "must have 2 to 2^26 values")
    return UInt64(size!)
}

/// The index of an answer, without silence; nil for what is none.
func indexIn(_ domain: JSON, _ answer: JSON) -> UInt64? {
    switch domain["kind"].text {
    case "categorical":
        // A label is the same code points: Swift's == would take other compositions for it.
        let place = domain["values"].list.firstIndex { value in
            if let label = value.text, let given = answer.text { return label.utf8.elementsEqual(given.utf8) }
            return value.text == nil && value == answer
        }
        return place.map { UInt64($0) }
    case "integers":
        guard let low = domain["low"].whole, let high = domain["high"].whole, let found = answer.whole,
            low <= found, found <= high else { return nil }
        return UInt64(found - low)
    case "interval":
        guard let low = domain["low"].number, let high = domain["high"].number, let bins = domain["bins"].number,
            var number = answer.number else { return nil }
        if domain["clip"].bool == true { number = min(max(number, low), high) }
        if number < low || number > high { return nil }
        let share = (number - low) / (high - low)
        return UInt64(min(share * bins, bins - 1))
    case "grid":
        guard let (row, column) = pair(answer), let rows = domain["rows"].whole, let columns = domain["columns"].whole,
            let without = leftOut(domain), 0 <= row, row < rows, 0 <= column, column < columns else { return nil }
        let place = row * columns + column
        return without.contains(place) ? nil : UInt64(place) - UInt64(without.filter { $0 < place }.count)
    default: return nil
    }
}

/// A question or a public column. `data` holds all of it, also the texts to show.
public struct Asked {
    public let name: String, data: JSON, silence: Bool
    let size: UInt64, epsilon: Double, program: Program? // of a question

    init(_ data: JSON, _ languages: [String], weak: Bool?) throws {
        (self.name, self.data) = (data["name"].text ?? "", data)
        try malformed(name != "", "questions", "must be objects with names")
        try checkText(data["label"], languages, name)
        try checkText(data["help"], languages, name)
        try malformed(data["unit"].text != nil, name, "must have a unit, or an empty text")
        size = try sizeOf(data["domain"], "survey.\(name).domain")
        let labels = data["domain"]["values"].list.count
        for tag in languages {
            let texts = data["answers"][tag]
            let right = texts.list.count == labels && texts.list.allSatisfy { $0.text != nil }
            try malformed(right && texts != .null, name, "must have a text for each label")
        }
        guard let weak = weak else { // a public column
            let kinds = ["categorical", "integers"]
            try malformed(kinds.contains(data["domain"]["kind"].text ?? ""), name, "must be of a public column")
            (silence, epsilon, program) = (false, 0, nil)
            return
        }
        try malformed(data["silence"].bool != nil, name, "must say whether silence is an answer")
        silence = data["silence"].bool!
        epsilon = try positive(data["epsilon"], name)
        if data["delta"] != .null { _ = try positive(data["delta"], name) }
        let read = try Program(data["program"], "survey.\(name)")
        try malformed(read.size == size + (silence ? 1 : 0), name, "must have a program for its values")
        let stated = read.odds.nats <= epsilon * (1 + 1e-9) + 1e-12
        try require(stated, "odds_exceed", "survey.\(name)", "must have the epsilon of the odds")
        let protects = weak || !read.odds.exceeds(Ratio(Big(22027), Big(1)))
        try require(protects, "unprotected", "survey.\(name)", "must have odds of at most 22027 of any two answers")
        program = read
    }

    /// The number of an answer; `.null` for none.
    public func index(_ answer: JSON) throws -> UInt64 {
        if answer == .null {
            try require(silence, "bad_answer", name, "needs an answer")
            return size
        }
        guard let found = indexIn(data["domain"], answer) else {
            throw Refusal(code: "bad_answer", place: name, rule: "must be one of the values of the question")
        }
        return found
    }
}

/// A survey document that was read and checked. `data` holds all of it, also the texts to show.
public struct Survey {
    public let study, layout: String, invited: Bool, questions, columns: [Asked], data: JSON
    public let values: UInt64? // on how many answers to a question a device reports; nil without rounds

    /// `digest` is the SHA-256 that the bytes must have, by another way than the bytes.
    public init(served: Data, digest: String? = nil) throws {
        let own = SHA256.hash(data: served).map { String(format: "%02x", $0) }.joined()
        try require(digest == nil || digest!.lowercased() == own, "altered", "survey", "must have its digest")
        guard let data = try? JSONDecoder().decode(JSON.self, from: served) else {
            throw Refusal(code: "malformed", place: "survey", rule: "must be JSON")
        }
        try self.init(data)
    }

    init(_ data: JSON) throws {
        self.data = data
        try malformed(data["format"] == .number(1), "format", "must be 1")
        (study, layout) = (data["study"].text ?? "", data["layout"].text ?? "")
        for digest in [study, layout] {
            let digits = digest.utf8.count == 64 && digest.allSatisfy { "0123456789abcdef".contains($0) }
            try malformed(digits, "study", "must have digests of 64 digits")
        }
        let access = data["access"].text ?? ""
        try malformed(["open", "invited"].contains(access), "access", "must be open or invited")
        invited = access == "invited"
        try malformed(data["contact"].text != nil, "contact", "must be a text")
        let weak = data.object["weak_protection"]
        try malformed(weak == nil || weak == .bool(true), "weak_protection", "must be true, or left out")
        for key in ["opens", "closes"] where data[key] != .null {
            let moment = data[key].text.flatMap { ISO8601DateFormatter().date(from: $0) }
            try malformed(moment != nil, key, "must be a moment or null")
        }
        let languages = data["languages"].list.compactMap { $0.text }
        let different = Set(languages).count == data["languages"].list.count
        try malformed(different && !languages.isEmpty, "languages", "must be different texts")
        try checkText(data["title"], languages, "title")
        try checkText(data["introduction"], languages, "introduction")
        let rule = "draws questions, which this client does not do"
        try require(data.object["program"] == nil, "unknown_sampler", "survey.program", rule)
        guard case .list = data["public"] else {
            throw Refusal(code: "malformed", place: "survey.public", rule: "must be a list")
        }
        columns = try data["public"].list.map { try Asked($0, languages, weak: nil) }
        questions = try data["questions"].list.map { try Asked($0, languages, weak: weak != nil) }
        try malformed(!questions.isEmpty, "questions", "must have a question at least")
        let names = Set((questions + columns).map { $0.name })
        try malformed(names.count == questions.count + columns.count, "questions", "must be asked once")
        let repeated = data.object["repeat"]
        var (memos, total) = ([Program](), 0.0)
        for question in questions {
            if case .permanent(let memo, _, _) = question.program!.sampler { memos.append(memo) }
            total += question.epsilon
        }
        let same = memos.count == (repeated == nil ? 0 : questions.count)
        try malformed(same, "repeat", "must go with permanent reports of all questions")
        if let repeated = repeated {
            let (round, rounds) = (repeated["round"].whole ?? 0, repeated["rounds"].whole ?? 0)
            let most = repeated["values"].whole ?? 0
            try malformed(1 <= round && round <= rounds && most >= 1, "repeat", "must be of one round")
            let stated = try positive(repeated["epsilon"], "repeat.epsilon") * (1 + 1e-9)
            let spent = memos.map { Double(min(UInt64(most), $0.size)) * $0.odds.nats }.reduce(0, +)
            try require(spent <= stated, "odds_exceed", "survey.repeat", "must be the epsilon of all permanent reports")
            values = UInt64(most)
        } else {
            values = nil
        }
        let stated = try positive(data["epsilon"], "epsilon") * (1 + 1e-9)
        try require(total <= stated, "odds_exceed", "survey.epsilon", "must be the epsilon of the odds")
    }

    func given(_ asked: [Asked], _ answers: [String: JSON]) throws -> [UInt64] {
        for name in answers.keys {
            try require(asked.contains { $0.name == name }, "bad_answer", name, "is no question of the survey")
        }
        return try asked.map { question in
            try require(answers[question.name] != nil, "bad_answer", question.name, "needs an answer, or null for none")
            return try question.index(answers[question.name]!)
        }
    }

    /// The body that leaves the device. `memos` are permanent reports, where there are rounds.
    func seal(
        _ answers: [String: JSON], _ shown: [String: JSON], _ code: String, _ memos: [Data], _ next: Words
    ) throws -> Data {
        var body = try head(code)
        for index in try given(columns, shown) { body += bytes(index, 4) }
        for (i, index) in try given(questions, answers).enumerated() {
            let program = questions[i].program!
            body += values == nil ? program.draw(index, next) : program.degrade(memos[i], next)
        }
        return body
    }

    /// The body as far as the id, which no answer has a part in.
    func head(_ code: String) throws -> Data {
        let digits = Array(layout)
        let bytes = stride(from: 0, to: 64, by: 2).map { UInt8(String(digits[$0...$0 + 1]), radix: 16)! }
        let id = invited ? try hashOfCode("warner invitation\n\(study)", code) : randomBytes(16)
        return Data("WRN1".utf8) + Data(bytes) + id
    }

    func hashOfCode(_ use: String, _ code: String) throws -> Data {
        let plain = code.uppercased().filter { !$0.isWhitespace && $0 != "-" }
        let right = plain.utf8.count == 16 && plain.allSatisfy { "23456789ABCDEFGHJKMNPQRSTVWXYZ".contains($0) }
        try require(right, "code", "code", "must be 16 letters and digits, as in the invitation")
        return Data(SHA256.hash(data: Data("\(use)\n\(plain)".utf8)).prefix(16))
    }
}
