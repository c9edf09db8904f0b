package warner

import java.math.BigInteger
import org.json.JSONObject

/** A program one_of: which block of the questions a person is asked, and how it is randomised. */
internal class Draws(value: Any?, place: String) {
    class Block(val names: List<String>, val program: Program)

    private val odds: List<BigInteger> // of 2^64
    val blocks: List<Block>
    private val columns: List<Column>

    init {
        val data = value as? JSONObject ?: JSONObject()
        if (data.opt("sampler") != "one_of") {
            Program.read(value, place)
            require(false, "malformed", place, "must be of blocks of questions")
        }
        require(data.opt("format") == 1, "unknown_format", place, "must have the format 1")
        require(names(data).all { it in ENTRIES }, "malformed", place, "must have the entries of its sampler")
        require(data.opt("answer") == "parts", "malformed", place, "must have its kind of answers")
        odds = listed(data, "draw", place).map { Entries(JSONObject().put("draw", it), place).integer("draw") }
        val programs = listed(data, "programs", place).map { Program.read(it, "$place.programs") }
        val law = { holds: Boolean, rule: String -> require(holds, "not_a_law", place, rule) }
        val used = hashSetOf<Long>()
        blocks = listed(data, "blocks", place).map {
            val block = it as? JSONObject ?: JSONObject()
            val number = Entries(block, place).count("program")
            val names = listed(block, "attributes", place)
            require(names.all { it is String }, "malformed", place, "must have names of questions")
            law(names.isNotEmpty() && names.toSet().size == names.size, "must have a question in each block, and none twice")
            law(number < programs.size, "must have the programs of its blocks")
            used.add(number)
            Block(names.map { it as String }, programs[number.toInt()])
        }
        law(blocks.map { it.names.toSet() }.toSet().size == blocks.size, "must have each block once")
        val right = blocks.size in 2..10_000 && odds.size == blocks.size && used.size == programs.size
        law(right, "must have 2 to 10,000 blocks, and their programs")
        val total = odds.fold(BigInteger.ZERO) { sum, width -> sum + width }
        law(odds.all { it.signum() > 0 } && total == RANGE, "must have odds that sum to 2^64")
        // The block, and numbers of the widest type that a block needs there.
        val widths = programs.map { it.widths() }
        val count = widths.map { it.size }.max()!!
        columns = listOf(numbers("block", blocks.size.toLong())) + List(count) { slot ->
            val widest = widths.map { it.getOrElse(slot) { 0 } }.max()!!
            Column(if (count == 1) "report" else "report_${slot + 1}", widest, 1)
        }
        require(Program.same(data.opt("columns"), columns), "columns_differ", place, "must have the columns of its sampler")
        val none = data.isNull("odds") && data.isNull("odds_at_most")
        require(none, "odds_differ", place, "must have no odds of its own")
    }

    private fun listed(data: JSONObject, key: String, place: String): List<Any?> {
        val list = data.opt(key) as? org.json.JSONArray
        require(list != null, "malformed", place, "must have lists of odds, blocks and programs")
        return List(list!!.length()) { list.opt(it) }
    }

    /** The block of one word, before any answer is known. */
    fun drawn(word: Long): Int {
        var end = BigInteger.ZERO
        return odds.indexOfFirst { width ->
            end += width
            big(word) < end
        }
    }

    /** The report on a block, from that of its program. */
    fun record(block: Int, drawn: ByteArray): ByteArray {
        var record = columns[0].bytes(block.toLong())
        var at = 0
        val widths = blocks[block].program.widths()
        for ((slot, column) in columns.drop(1).withIndex()) {
            val taken = widths.getOrElse(slot) { 0 }
            record += drawn.copyOfRange(at, at + taken).copyOf(column.width) // 0 behind it
            at += taken
        }
        return record
    }

    private companion object {
        val ENTRIES = listOf(
            "format", "sampler", "answer", "columns", "odds", "odds_at_most", "draw", "blocks", "programs"
        )
    }
}
