// NOT COMPILED AND NOT RUN by the project; see Warner.swift.

import CryptoKit
import Foundation

/// The installation of one person: what is kept until it was sent, permanent reports, and the connection.
///
/// The folder is of the app alone. The key is made once, by `SymmetricKey(size: .bits256)`, and belongs in the
/// Keychain: it hides permanent reports in copies of the folder.
public actor Device {
    private let url: URL, folder: URL, key: SymmetricKey, session: URLSession

    public init(url: URL, folder: URL, key: SymmetricKey) throws {
        try require(url.scheme == "https", "insecure", "address", "must begin with https://")
        try require(key.bitCount == 256, "insecure", "key", "must have 32 bytes")
        (self.url, self.folder, self.key) = (url, folder, key)
        let settings = URLSessionConfiguration.ephemeral
        settings.timeoutIntervalForRequest = 30
        session = URLSession(configuration: settings, delegate: NoRedirects(), delegateQueue: nil)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    /// Asks the collector for its survey. `digest` is as that of `Survey`.
    public func survey(digest: String? = nil) async throws -> Survey {
        let (served, reply) = try await session.data(from: url.appendingPathComponent("study.json"))
        guard (reply as? HTTPURLResponse)?.statusCode == 200 else { throw URLError(.badServerResponse) }
        return try Survey(served: served, digest: digest)
    }

    /// Sends the answers of this person, once: they are randomised at the first call, and kept; a later call
    /// sends the same bytes, whatever answers it has, until they have arrived.
    ///
    /// Returns "sent"; "unavailable", "busy" or "not-open", after which the caller tries again later; "spent",
    /// where the code was used; "closed", "not-invited", "other-study" or "rejected".
    public func send(
        _ survey: Survey, answers: [String: JSON], shown: [String: JSON] = [:], code: String = ""
    ) async throws -> String {
        let note = survey.invited ? try hex(survey.hashOfCode("warner note", code)) : ""
        let kept = folder.appendingPathComponent("outbox-\(survey.study)-\(note)")
        if !FileManager.default.fileExists(atPath: kept.path) {
            _ = (try survey.given(survey.questions, answers), try survey.given(survey.columns, shown))
            if survey.invited {
                let outcome = await post("spent", try survey.head(code))
                if outcome != "unspent" { return outcome }
            }
            // Nothing is awaited from here until it is kept. While the code was asked for, another call may have kept it.
            if !FileManager.default.fileExists(atPath: kept.path) {
                try write(kept, try survey.seal(answers, shown, code, try memos(survey, answers), systemWord))
            }
        }
        let body = try Data(contentsOf: kept)
        if body.isEmpty { return "sent" } // its bytes are no longer kept: they could show which report is of this device
        let outcome = await post("reports", body)
        if outcome == "sent" { try write(kept, Data()) }
        return outcome
    }

    /// Sends bytes once. Only the collector's own reply counts: what a portal of a network says does not.
    private func post(_ address: String, _ body: Data) async -> String {
        var request = URLRequest(url: url.appendingPathComponent(address))
        request.httpMethod = "POST"
        request.setValue("application/octet-stream", forHTTPHeaderField: "Content-Type")
        guard let (text, reply) = try? await session.upload(for: request, from: body),
            let status = (reply as? HTTPURLResponse)?.statusCode else { return "unavailable" }
        guard let said = try? JSONDecoder().decode(JSON.self, from: text) else { return "busy" }
        if address == "spent" && status == 200 && said["spent"] == .number(0) { return "unspent" }
        if address == "spent" && status == 200 && said["spent"] == .number(1) { return "spent" }
        if address == "reports" && status == 202 && said["accepted"] == .number(1) { return "sent" }
        guard (400..<500).contains(status), ![408, 429].contains(status), let error = said["error"].text else { return "busy" }
        return ["closed": "closed", "not_open": "not-open", "not_invited": "not-invited",
                "other_study": "other-study"][error] ?? "rejected"
    }

    /// A file is there with all of its bytes, or not at all.
    private func write(_ file: URL, _ content: Data) throws {
        try content.write(to: file, options: .atomic)
        let handle = try FileHandle(forUpdating: file)
        defer { try? handle.close() }
        try handle.synchronize()
    }

    /// The permanent reports on a person's answers: those that are kept, and for other answers new ones, which
    /// are kept before it returns. All of them, or none where one has no room.
    private func memos(_ survey: Survey, _ answers: [String: JSON]) throws -> [Data] {
        if survey.values == nil { return [] }
        let indices = try survey.given(survey.questions, answers)
        for (question, index) in zip(survey.questions, indices) { _ = try memo(survey, question, index, draws: false) }
        return try zip(survey.questions, indices).map { try memo(survey, $0, $1, draws: true)! }
    }

    /// The permanent report on one answer. They lie in numbered places, one for each answer that a device may
    /// report on. A place holds a code of the answer that nobody can tell without the key, and the sealed
    /// report. The question, and not the round, names it: the next round finds it.
    private func memo(_ survey: Survey, _ question: Asked, _ index: UInt64, draws: Bool) throws -> Data? {
        guard case .permanent(let program, _, _) = question.program!.sampler else { preconditionFailure("has no memo") }
        let named = [question.name, question.data["domain"].canonical, question.data["program"]["memo"].canonical]
        let series = hex(Data(SHA256.hash(data: Data("warner memo question\n\(named.joined(separator: "\n"))".utf8))))
        let code = coded("value", "\(series)\n\(index)")
        let (box, bound) = (SymmetricKey(data: coded("box", "")), Data(series.utf8) + code)
        for place in 0..<min(survey.values!, question.program!.size) {
            let file = folder.appendingPathComponent("memo-\(series)-\(place)")
            if !FileManager.default.fileExists(atPath: file.path) {
                if !draws { return nil }
                let sealed = try AES.GCM.seal(program.draw(index, systemWord), using: box, authenticating: bound)
                try write(file, code + sealed.combined!)
            }
            let kept = try Data(contentsOf: file)
            let whole = kept.count == code.count + 12 + program.length + 16
            try require(whole, "memo_altered", question.name, "has a permanent report that was cut")
            if kept.prefix(code.count) != code { continue }
            guard let sealed = try? AES.GCM.SealedBox(combined: Data(kept.dropFirst(code.count))),
                let record = try? AES.GCM.open(sealed, using: box, authenticating: bound) else {
                throw Refusal(code: "memo_altered", place: question.name, rule: "has a permanent report that was altered")
            }
            return record
        }
        throw Refusal(
            code: "memo_full", place: question.name,
            rule: "has as many different answers as this device may report on")
    }

    private func coded(_ use: String, _ text: String) -> Data {
        Data(HMAC<SHA256>.authenticationCode(for: Data("warner memo \(use)\n\(text)".utf8), using: key))
    }
}

private func hex(_ bytes: Data) -> String { bytes.map { String(format: "%02x", $0) }.joined() }

private final class NoRedirects: NSObject, URLSessionTaskDelegate {
    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping (URLRequest?) -> Void
    ) {
        completionHandler(nil)
    }
}
