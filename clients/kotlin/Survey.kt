package warner

import java.math.BigInteger
import java.security.MessageDigest
import org.json.JSONArray
import org.json.JSONObject
import org.json.JSONTokener

private const val MOST_ODDS = 22027L // of any two answers, unless the survey says that its protection is weak

internal fun hex(bytes: ByteArray) = bytes.joinToString("") { "%02x".format(it) }

internal fun unhex(digits: String) = ByteArray(digits.length / 2) { digits.substring(2 * it, 2 * it + 2).toInt(16).toByte() }

internal fun sha256(bytes: ByteArray): ByteArray = MessageDigest.getInstance("SHA-256").digest(bytes)

private fun malformed(holds: Boolean, place: String, rule: String) = require(holds, "malformed", "survey.$place", rule)

internal fun names(data: JSONObject): List<String> = data.keys().asSequence().map { it.toString() }.toList()

private fun items(value: Any?): List<Any?> = (value as? JSONArray)?.let { list -> List(list.length()) { list.opt(it) } } ?: emptyList()

/** An integer between -2^53 and 2^53, also one that is written as a double. */
private fun whole(value: Any?): Long? {
    val number = (value as? Number)?.toDouble() ?: return null
    return if (number == Math.rint(number) && Math.abs(number) < (1L shl 53)) number.toLong() else null
}

private fun number(value: Any?): Double? = (value as? Number)?.toDouble()?.takeIf { !it.isNaN() && !it.isInfinite() }

private fun positive(value: Any?, place: String): Double {
    val found = number(value)
    malformed(found != null && found > 0, place, "must be a number above 0")
    return found!!
}

private fun checkText(value: Any?, languages: List<String>, place: String) =
    malformed(languages.all { (value as? JSONObject)?.opt(it) is String }, place, "must have a text in each language")

private fun pair(value: Any?): Pair<Long, Long>? {
    val both = items(value).map { whole(it) }
    return if (both.size == 2 && both[0] != null && both[1] != null) Pair(both[0]!!, both[1]!!) else null
}

/** The cells of a grid that are no values, by row * columns + column; null where they are none. */
private fun leftOut(domain: JSONObject): List<Long>? {
    val columns = whole(domain.opt("columns")) ?: return null
    if (domain.has("without") && domain.opt("without") !is JSONArray) return null
    return items(domain.opt("without")).map { cell -> pair(cell)?.let { it.first * columns + it.second } ?: return null }
}

/** Checks a domain, and returns how many values it has. */
internal fun sizeOf(domain: JSONObject, place: String): Long {
    require(domain.opt("kind") != "dates", "unknown_domain", place, "has dates, which this client does not know")
    val (low, high) = Pair(number(domain.opt("low")), number(domain.opt("high")))
    val size: Double? = when (domain.opt("kind")) {
        "categorical" -> {
            val values = items(domain.opt("values"))
            val labels = values.all { it is String || it is Boolean || whole(it) != null }
            if (labels && values.toSet().size == values.size) values.size.toDouble() else null
        }
        "integers" -> if (whole(low) != null && whole(high) != null) high!! - low!! + 1 else null
        "interval" -> {
            val clips = !domain.has("clip") || domain.opt("clip") is Boolean
            val right = clips && low != null && high != null && low < high
            if (right) whole(domain.opt("bins"))?.toDouble() else null
        }
        "grid" -> {
            val (rows, columns) = Pair(whole(domain.opt("rows")), whole(domain.opt("columns")))
            val without = leftOut(domain)
            if (rows != null && columns != null && without != null) rows.toDouble() * columns - without.size else null
        }
        else -> null
    }
    require(size != null, "malformed", place, "must be a domain that this client knows")
    require(size!! >= 2 && size <= 1 shl 26, "malformed", place, "must have 2 to 2^26 values")
    return size.toLong()
}

/** The index of an answer, without silence; null for what is none. */
internal fun indexIn(domain: JSONObject, answer: Any?): Long? {
    val (low, high) = Pair(number(domain.opt("low")), number(domain.opt("high")))
    return when (domain.opt("kind")) {
        "categorical" -> {
            val place = items(domain.opt("values")).indexOfFirst {
                it == answer || whole(it) != null && whole(it) == whole(answer)
            }
            if (place >= 0) place.toLong() else null
        }
        "integers" -> whole(answer)?.takeIf { it >= low!! && it <= high!! }?.let { it - low!!.toLong() }
        "interval" -> {
            val bins = number(domain.opt("bins"))!!
            val given = number(answer) ?: return null
            val inside = if (domain.opt("clip") == true) Math.min(Math.max(given, low!!), high!!) else given
            val share = (inside - low!!) / (high!! - low)
            if (inside in low..high) Math.min(share * bins, bins - 1).toLong() else null
        }
        "grid" -> {
            val (row, column) = pair(answer) ?: return null
            val (rows, columns) = Pair(whole(domain.opt("rows"))!!, whole(domain.opt("columns"))!!)
            val (place, without) = Pair(row * columns + column, leftOut(domain)!!)
            val inside = row in 0 until rows && column in 0 until columns && place !in without
            if (inside) place - without.count { it < place } else null
        }
        else -> null
    }
}

/** A question or a public column. [data] holds all of it, also the texts to show. */
class Asked internal constructor(val data: JSONObject, languages: List<String>) {
    val name: String = data.opt("name") as? String ?: ""
    internal val domain: JSONObject
    private val size: Long // values, without silence
    var silence = false // whether null, for no answer, is an answer
        private set
    internal var epsilon = 0.0
        private set
    internal var program: Program? = null // of a question, where none are drawn
        private set

    /** How many answers it has, silence among them. */
    internal val values get() = size + (if (silence) 1 else 0)

    init {
        malformed(name != "", "questions", "must be objects with names")
        checkText(data.opt("label"), languages, name)
        checkText(data.opt("help"), languages, name)
        malformed(data.opt("unit") is String, name, "must have a unit, or an empty text")
        malformed(data.opt("domain") is JSONObject, name, "must have a domain")
        domain = data.getJSONObject("domain")
        size = sizeOf(domain, "survey.$name.domain")
        val labels = items(domain.opt("values")).size
        val shown = languages.all { tag ->
            val texts = (data.opt("answers") as? JSONObject)?.opt(tag)
            texts is JSONArray && texts.length() == labels && items(texts).all { it is String }
        }
        malformed(shown, name, "must have a text for each label")
    }

    internal fun readQuestion(drawn: Boolean, weak: Boolean) {
        malformed(data.opt("silence") is Boolean, name, "must say whether silence is an answer")
        silence = data.getBoolean("silence")
        epsilon = positive(data.opt("epsilon"), name)
        if (!data.isNull("delta")) positive(data.opt("delta"), name)
        if (drawn) return malformed(!data.has("program"), name, "must have no program beside that of all")
        program = Program.read(data.opt("program"), "survey.$name").also {
            malformed(it.size == values, name, "must have a program for its values")
            checkProgram(it, weak)
        }
    }

    /** Refuses a program that spends more on a question than it states, or protects too little. */
    internal fun checkProgram(program: Program, weak: Boolean) {
        val odds = program.sampler.odds
        val stated = odds.nats() <= epsilon * (1 + 1e-9) + 1e-12
        require(stated, "odds_exceed", "survey.$name", "must have the epsilon of the odds")
        val most = Ratio(BigInteger.valueOf(MOST_ODDS), BigInteger.ONE)
        val protects = weak || !odds.exceeds(most)
        require(protects, "unprotected", "survey.$name", "must have odds of at most 22027 of any two answers")
    }

    /** The number of an answer: a text, a boolean, a number, a cell as a JSONArray, or null for none. */
    fun index(answer: Any?): Long {
        if (answer == null || answer === JSONObject.NULL) {
            require(silence, "bad_answer", name, "needs an answer")
            return size
        }
        val found = indexIn(domain, answer)
        require(found != null, "bad_answer", name, "must be one of the values of the question")
        return found!!
    }
}

/** Who answers a survey once: an entry for every question that is asked, see [Device.asked], and for every public column. */
class Person(val answers: JSONObject, val public: JSONObject = JSONObject(), val code: String = "")

/** A survey document that was read and checked. [data] holds all of it, also the texts to show. */
class Survey internal constructor(val data: JSONObject) {
    val study: String
    val layout: String
    val invited: Boolean
    val questions: List<Asked>
    val public: List<Asked>

    /** On how many answers to a question a device reports at most; null where there are no rounds. */
    val values: Long?

    /** Where each person is asked one block of the questions. */
    internal val draws: Draws?

    /** The name under which a device keeps the block. */
    internal val draw: String

    init {
        malformed(data.opt("format") == 1, "format", "must be 1")
        val digests = listOf("study", "layout").map { data.opt(it) as? String ?: "" }
        malformed(digests.all { DIGEST.matches(it) }, "study", "must have digests of 64 digits")
        study = digests[0]
        layout = digests[1]
        malformed(data.opt("access") in listOf("open", "invited"), "access", "must be open or invited")
        invited = data.opt("access") == "invited"
        malformed(data.opt("contact") is String, "contact", "must be a text")
        val weak = data.has("weak_protection")
        malformed(!weak || data.opt("weak_protection") == true, "weak_protection", "must be true, or left out")
        for (key in listOf("opens", "closes")) {
            val moment = data.opt(key)
            malformed(data.isNull(key) || moment is String && MOMENT.matches(moment), key, "must be a moment or null")
        }
        val languages = items(data.opt("languages")).filterIsInstance<String>()
        val different = languages.toSet().size == (data.opt("languages") as? JSONArray)?.length()
        malformed(different && languages.isNotEmpty(), "languages", "must be different texts")
        checkText(data.opt("title"), languages, "title")
        checkText(data.opt("introduction"), languages, "introduction")
        val (asked, columns) = listOf("questions", "public").map { key ->
            malformed(data.opt(key) is JSONArray, key, "must be a list")
            items(data.opt(key)).map {
                malformed(it is JSONObject, key, "must be objects")
                Asked(it as JSONObject, languages)
            }
        }
        questions = asked
        public = columns
        malformed(questions.isNotEmpty(), "questions", "must have a question at least")
        val names = (questions + public).map { it.name }
        malformed(names.toSet().size == names.size, "questions", "must be asked once")
        for (column in public) {
            val kinds = listOf("categorical", "integers")
            malformed(column.domain.opt("kind") in kinds, column.name, "must be of a public column")
        }
        questions.forEach { it.readQuestion(data.has("program"), weak) }
        draws = if (data.has("program")) Draws(data.opt("program"), "survey.program") else null
        values = readRepeat()
        draw = if (values != null && draws != null) data.getJSONObject("repeat").getString("draw") else study
        val stated = positive(data.opt("epsilon"), "epsilon") * (1 + 1e-9)
        val total = if (draws == null) questions.map { it.epsilon }.sum() else checkBlocks(draws, weak)
        require(total <= stated, "odds_exceed", "survey.epsilon", "must be the epsilon of the odds")
    }

    /** The epsilon of the block that spends most. */
    private fun checkBlocks(draws: Draws, weak: Boolean): Double {
        val rule = "must be of the questions of the survey"
        for (block in draws.blocks) {
            val asked = block.names.map { name -> questions.find { it.name == name } }
            malformed(asked.all { it != null }, "program", rule)
            val values = asked.map { it!!.values.toDouble() }.fold(1.0) { product, size -> product * size }
            malformed(values == block.program.size.toDouble(), "program", "must have a program for its values")
            asked.forEach { it!!.checkProgram(block.program, weak) }
        }
        malformed(draws.blocks.flatMap { it.names }.toSet().size == questions.size, "program", rule)
        return draws.blocks.map { it.program.sampler.odds.nats() }.max()!!
    }

    /** The questions of a block, or all where nothing is drawn. */
    internal fun asked(block: Int): List<Asked> =
        draws?.blocks?.get(block)?.names?.map { name -> questions.first { it.name == name } } ?: questions

    /** The programs of the reports on a block, or on all questions where nothing is drawn. */
    internal fun programs(block: Int): List<Program> =
        if (draws == null) questions.map { it.program!! } else listOf(draws.blocks[block].program)

    /** The block that an invited person is asked, the same on every device. */
    internal fun blockOfCode(code: String): Int {
        val hash = hashOfCode("warner block\n$draw", code)
        return draws!!.drawn(java.nio.ByteBuffer.wrap(hash).long)
    }

    /** A survey has permanent reports and says its rounds, or it has neither. */
    private fun readRepeat(): Long? {
        val programs = draws?.blocks?.map { it.program } ?: programs(0)
        val same = programs.all { (it.sampler is Permanent) == data.has("repeat") }
        malformed(same, "repeat", "must go with permanent reports of all questions")
        if (!data.has("repeat")) return null
        val alone = draws == null || draws.blocks.all { it.names.size == 1 }
        malformed(alone, "repeat", "must go with blocks of one question")
        val repeat = data.opt("repeat") as? JSONObject ?: JSONObject()
        val named = if (draws == null) !repeat.has("draw") else DIGEST.matches(repeat.opt("draw") as? String ?: "")
        malformed(named, "repeat", "must name what a device draws for all rounds, if anything")
        val (round, rounds, values) = listOf("round", "rounds", "values").map { whole(repeat.opt(it)) ?: 0 }
        malformed(round in 1..rounds && values >= 1, "repeat", "must be of one round")
        val nats = programs.map { minOf(values, it.size) * (it.sampler as Permanent).memo.sampler.odds.nats() }
        val total = if (draws == null) nats.sum() else nats.max()!! // a device reports on one question alone
        val stated = positive(repeat.opt("epsilon"), "repeat.epsilon") * (1 + 1e-9)
        require(total <= stated, "odds_exceed", "survey.repeat", "must be the epsilon of all permanent reports")
        return values
    }

    /** The indices of a person's answers to a block. Other answers of the survey are not read. */
    internal fun answers(person: Person, block: Int) = indices(asked(block), questions, person.answers)

    internal fun columns(person: Person) = indices(public, public, person.public)

    private fun indices(asked: List<Asked>, all: List<Asked>, answers: JSONObject): List<Long> {
        for (name in names(answers)) {
            require(all.any { it.name == name }, "bad_answer", name, "is no question of the survey")
        }
        return asked.map {
            require(answers.has(it.name), "bad_answer", it.name, "needs an answer, or null for none")
            it.index(answers.opt(it.name))
        }
    }

    /**
     * The body that leaves the device. [block] is what was drawn, and [memos] are the permanent reports on what
     * is asked, where there are rounds.
     */
    internal fun seal(person: Person, block: Int, memos: List<ByteArray>, next: Words): ByteArray {
        val columns = columns(person)
        var answers = answers(person, block)
        var body = head(person.code)
        for (index in columns) body += ByteArray(4) { (index ushr 8 * it).toByte() }
        if (draws != null) {
            val both = asked(block).zip(answers)
            answers = listOf(both.fold(0L) { joint, (question, index) -> joint * question.values + index })
        }
        for ((i, program) in programs(block).withIndex()) {
            val sampler = program.sampler
            val report = if (sampler is Permanent) sampler.degrade(memos[i], next) else sampler.draw(answers[i], next)
            body += if (draws == null) report else draws.record(block, report)
        }
        return body
    }

    /** The body as far as the id, which no answer has a part in. */
    internal fun head(code: String): ByteArray {
        val id = if (invited) hashOfCode("warner invitation\n$study", code) else randomBytes(16)
        return "WRN1".toByteArray() + unhex(layout) + id
    }

    internal fun hashOfCode(use: String, code: String): ByteArray {
        val plain = code.replace(Regex("[\\s-]"), "").map { Character.toUpperCase(it) }.joinToString("")
        require(CODE.matches(plain), "code", "code", "must be 16 letters and digits, as in the invitation")
        return sha256("$use\n$plain".toByteArray()).copyOf(16)
    }

    companion object {
        private val DIGEST = Regex("[0-9a-f]{64}")
        private val CODE = Regex("[2-9A-HJKMNP-TV-Z]{16}")
        private val MOMENT = Regex("\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d.+")

        /**
         * Reads and checks a survey as it was served.
         *
         * [digest] is the SHA-256 that its bytes must have, by another way than the bytes; null for none.
         */
        fun read(served: ByteArray, digest: String? = null): Survey {
            val same = digest == null || digest.equals(hex(sha256(served)), ignoreCase = true)
            require(same, "altered", "survey", "must have its digest")
            val tokens = JSONTokener(String(served, Charsets.UTF_8))
            val data = try {
                tokens.nextValue()
            } catch (error: org.json.JSONException) {
                null
            }
            require(data is JSONObject && tokens.nextClean().toInt() == 0, "malformed", "survey", "must be a JSON object")
            return Survey(data as JSONObject)
        }
    }
}
