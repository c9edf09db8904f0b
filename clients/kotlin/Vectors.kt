package warner

import java.io.File
import org.json.JSONArray
import org.json.JSONObject

/** Judges the client by the known answers of tests/vectors, whose folder is the argument. */
object Vectors {
    private var judged = 0
    private var failed = 0

    private val SAMPLERS = listOf("direct", "bits", "hash", "subset", "hadamard", "permanent")

    private fun same(found: Any?, expected: Any?, name: String) {
        judged += 1
        if (found != expected) {
            failed += 1
            println("$name: $found, expected $expected")
        }
    }

    private fun code(act: () -> Unit): String = try {
        act()
        ""
    } catch (refusal: Refusal) {
        refusal.code
    }

    private fun JSONArray.objects() = List(length()) { getJSONObject(it) }

    /** Listed words, and how many were taken. */
    private class Listed(val words: JSONArray) {
        var used = 0

        fun next(): Long = java.lang.Long.parseUnsignedLong(words.getString(used).substring(2), 16).also { used += 1 }
    }

    /** Whether the client has all samplers of a program. */
    private fun knows(program: Any?): Boolean =
        program is JSONObject && program.opt("sampler") in SAMPLERS && (!program.has("memo") || knows(program.opt("memo")))

    private fun edited(served: String, case: JSONObject): JSONObject {
        val document = JSONObject(served)
        val edits = case.optJSONArray("edits") ?: JSONArray()
        for (i in 0 until edits.length()) {
            val path = edits.getJSONArray(i).getJSONArray(0)
            val value = edits.getJSONArray(i).get(1)
            var at: Any = document
            for (j in 0 until path.length()) {
                val key = path.get(j)
                val last = j == path.length() - 1
                at = if (at is JSONArray) {
                    if (last) at.put(key as Int, value)
                    at.get(key as Int)
                } else {
                    if (last) (at as JSONObject).put(key as String, value)
                    (at as JSONObject).get(key as String)
                }
            }
        }
        return document
    }

    @JvmStatic
    fun main(arguments: Array<String>) {
        fun read(name: String) = JSONObject(File(arguments[0], name).readText()).getJSONArray("cases").objects()
        for (case in read("samplers.json")) {
            val (name, data) = Pair(case.getString("name"), case.getJSONObject("program"))
            val programs = data.optJSONArray("programs")?.objects() ?: emptyList()
            if (data.opt("sampler") == "one_of" && programs.all { knows(it) }) {
                val draws = Draws(data, name)
                for (draw in case.getJSONArray("draws").objects()) {
                    val words = Listed(draw.getJSONArray("words"))
                    val block = draws.drawn(words.next())
                    val index = draw.getJSONArray("encoded").getLong(block)
                    val report = draws.blocks[block].program.sampler.draw(index, words::next)
                same(hex(draws.record(block, report)), draw.getString("record"), name)
                    same(words.used, draw.getInt("used"), name)
                }
                continue
            }
            if (!knows(data)) {
                same(code { Program.read(data) }, "unknown_sampler", name)
                continue
            }
            val program = Program.read(data)
            for (draw in case.getJSONArray("draws").objects()) {
                val words = Listed(draw.getJSONArray("words"))
                same(hex(program.sampler.draw(draw.getLong("encoded"), words::next)), draw.getString("record"), name)
                same(words.used, draw.getInt("used"), name)
            }
        }
        for (case in read("programs.json")) {
            val (data, error) = Pair(case.get("program"), case.optString("error").takeIf { !case.isNull("error") } ?: "")
            val named = data !is JSONObject || error == "unknown_format" || knows(data)
            same(code { Program.read(data) }, if (named) error else "unknown_sampler", case.getString("name"))
        }
        for (case in read("encodings.json")) {
            sizeOf(case.getJSONObject("domain"), "question")
            for (answer in case.getJSONArray("answers").objects()) {
                val index = indexIn(case.getJSONObject("domain"), answer.opt("answer"))
                same(index?.toString() ?: "", answer.optString("index"), "${case.getString("name")} ${answer.opt("answer")}")
            }
        }
        for (file in listOf("finite.json", "rounds.json", "draws.json", "drawn_rounds.json")) surveys(file, read(file))
        for (file in listOf("studies.json")) {
            val cases = read(file)
            for (case in cases) {
                val found = code { Survey(edited(cases[0].getString("served"), case)) }
                val named = found in listOf("unknown_sampler", "unknown_domain") || found == case.optString("error")
                same(named, true, "$file ${case.optString("name")}: $found")
            }
        }
        println("$judged known answers, $failed wrong")
        if (failed > 0 || judged < 500) System.exit(1)
    }

    private fun surveys(file: String, cases: List<JSONObject>) {
        val (served, digest) = Pair(cases[0].getString("served"), cases[0].getString("sha256"))
        val survey = Survey.read(served.toByteArray(), digest)
        same(code { Survey.read("$served ".toByteArray(), digest) }, "altered", file)
        same(code { Survey.read("$served{}".toByteArray()) }, "malformed", file)
        for (case in cases.drop(1)) {
            val name = "$file ${case.optString("name")}"
            if (case.has("error")) {
                same(code { Survey(edited(served, case)) }, case.getString("error"), name)
                continue
            }
            val (answers, public) = Pair(case.getJSONObject("answers"), case.getJSONObject("public"))
            val code = case.getString("code")
            val block = if (survey.draws == null) 0 else survey.blockOfCode(code)
            same(block, case.optInt("block"), name)
            val memos = survey.asked(block).map { unhex(case.optJSONObject("memos")?.optString(it.name) ?: "") }
            val words = Listed(case.getJSONArray("words"))
            same(hex(survey.seal(Person(answers, public, code), block, memos, words::next)), case.getString("body"), name)
            same(words.used, case.getInt("used"), name)
            same(code { survey.seal(Person(answers, public, "ABCD-0000"), block, memos, ::systemWord) }, "code", name)
            answers.remove(survey.asked(block)[0].name)
            same(code { survey.seal(Person(answers, public, code), block, memos, ::systemWord) }, "bad_answer", name)
        }
    }
}
