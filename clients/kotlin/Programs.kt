// The device half of warner in Kotlin: it reads a survey, randomises the answers of one person, keeps what
// must be kept, and sends. docs/device_programs.md defines what it does.
//
// All randomness is of the operating system. Every decision compares a word of 64 bits with integers that
// travel in the survey. Samplers: direct, bits, hash, subset, hadamard, permanent of these, and one_of. Whatever
// else a survey asks for is refused by name. It needs Java 8 and org.json, which Android has.
package warner

import java.lang.Long.compareUnsigned
import java.lang.Long.divideUnsigned
import java.math.BigInteger
import java.security.SecureRandom
import org.json.JSONArray
import org.json.JSONObject

/** Why a survey, an answer or a person is refused. No message holds an answer. */
class Refusal(val code: String, val place: String, val rule: String) : Exception("$code: $place: $rule.")

internal fun require(holds: Boolean, code: String, place: String, rule: String) {
    if (!holds) throw Refusal(code, place, rule)
}

/** Uniform integers of 64 bits, unsigned. Tests list them; whatever is sent is drawn by [systemWord]. */
internal typealias Words = () -> Long

private val generator = SecureRandom() // seeded by the operating system, never by us

internal fun systemWord(): Long = generator.nextLong()

internal fun randomBytes(count: Int): ByteArray = ByteArray(count).also { generator.nextBytes(it) }

private val ONE = BigInteger.ONE
internal val RANGE = ONE.shiftLeft(64)
private val SAFE = ONE.shiftLeft(53)

private fun below(next: Words, threshold: Long) = compareUnsigned(next(), threshold) < 0

private fun uniform(next: Words, bound: Long): Long {
    if (bound == 1L) return 0
    val width = RANGE.divide(big(bound)).toLong()
    while (true) {
        val found = divideUnsigned(next(), width)
        if (compareUnsigned(found, bound) < 0) return found
    }
}

/** min(u / width, count) of a word u below count width + last, which is at most 2^64. */
private fun cell(next: Words, width: Long, count: Long, last: Long): Long {
    val total = count * width + last // 0 for 2^64, which no word reaches
    var u = next()
    while (total != 0L && compareUnsigned(u, total) >= 0) u = next()
    return minOf(divideUnsigned(u, width).let { if (it < 0) count else it }, count)
}

private fun drawnBits(next: Words, threshold: Long, count: Int) = BooleanArray(count) { below(next, threshold) }

/** A uniform subset of 0..total-1 by Floyd's algorithm; with complement, what is not in it is drawn. */
private fun members(next: Words, total: Long, members: Long, complement: Boolean): BooleanArray {
    val count = if (complement) total - members else members
    val chosen = BooleanArray(total.toInt())
    for (top in total - count until total) {
        val drawn = uniform(next, top + 1).toInt()
        chosen[if (chosen[drawn]) top.toInt() else drawn] = true
    }
    return BooleanArray(chosen.size) { chosen[it] != complement }
}

/** The bytes of bits: the first one is the highest bit of the first byte. */
private fun packed(ones: BooleanArray): ByteArray {
    val record = ByteArray((ones.size + 7) / 8)
    for (i in ones.indices) {
        if (ones[i]) record[i / 8] = (record[i / 8].toInt() or (128 shr i % 8)).toByte()
    }
    return record
}

/** A column of a report: numbers of [width] bytes. */
internal class Column(val name: String, val width: Int, val length: Int) {
    fun bytes(number: Long) = ByteArray(width) { (number ushr 8 * it).toByte() }
}

/** A column of the integers 0..m-1. */
internal fun numbers(name: String, m: Long) =
    Column(name, listOf(1, 2, 4).firstOrNull { m <= 1L shl 8 * it } ?: 8, 1)

/** An unsigned word as an integer. */
internal fun big(word: Long): BigInteger =
    if (word < 0) BigInteger.valueOf(word).add(RANGE) else BigInteger.valueOf(word)

/** 2^64 less a word. */
private fun rest(word: Long): BigInteger = RANGE.subtract(big(word))

/** A ratio of likelihoods. */
internal class Ratio(val numerator: BigInteger, val denominator: BigInteger) {
    fun exceeds(other: Ratio) = numerator * other.denominator > other.numerator * denominator

    fun larger() = if (numerator < denominator) Ratio(denominator, numerator) else this

    /** The epsilon of these odds, which are at least 1. */
    fun nats() = Math.log1p((numerator - denominator).toDouble() / denominator.toDouble())
}

/** Reads the entries of one object, and refuses it where one is left that nobody reads. */
internal class Entries(val data: JSONObject, val place: String, vararg known: String) {
    val read = hashSetOf(*known)

    fun get(key: String): Any? {
        read.add(key)
        return data.opt(key)
    }

    fun integer(key: String): BigInteger {
        val value = get(key)
        val found = when {
            value is String && HEXADECIMAL.matches(value) -> BigInteger(value.substring(2), 16).takeIf { it >= SAFE }
            value is Int || value is Long -> BigInteger.valueOf((value as Number).toLong()).takeIf { it < SAFE && it.signum() >= 0 }
            else -> null
        }
        require(found != null, "malformed", "$place.$key", "must be a number below 2^53, or a hexadecimal text")
        return found!!
    }

    /** A number of values, bits or columns. */
    fun count(key: String): Long {
        val found = integer(key)
        require(found < SAFE, "malformed", "$place.$key", "must be below 2^53")
        return found.toLong()
    }

    fun ratio(key: String): Pair<Entries, Ratio> {
        val data = get(key) as? JSONObject
        require(data != null, "malformed", "$place.$key", "must be a fraction")
        val fraction = Entries(data!!, "$place.$key")
        val found = Ratio(fraction.integer("numerator"), fraction.integer("denominator"))
        val positive = found.numerator.signum() > 0 && found.denominator.signum() > 0
        require(positive, "malformed", fraction.place, "must be positive")
        return Pair(fraction, found)
    }

    fun law(holds: Boolean, rule: String) = require(holds, "not_a_law", place, rule)

    /** An integer of a law that is one of 1..2^64-1. */
    fun word(number: BigInteger): Long {
        law(number.signum() > 0 && number < RANGE, "must have integers of 1 to 2^64 - 1")
        return number.toLong()
    }
}

private val HEXADECIMAL = Regex("0x[1-9a-f][0-9a-f]*")

/** Randomised response among values 0..size-1. */
private class Widths(e: Entries, val size: Long, ownWidth: BigInteger, otherWidth: BigInteger) {
    val own: Long
    val other: Long

    init {
        e.law(size >= 2, "must have two values or more")
        own = e.word(ownWidth)
        other = e.word(otherWidth)
        val total = big(size - 1) * otherWidth + ownWidth
        e.law(total <= RANGE, "own + (size - 1) other must be at most 2^64")
    }

    val likelier get() = Ratio(big(own), big(other))

    fun draw(index: Long, next: Words): Long {
        val drawn = cell(next, other, size - 1, own)
        return if (drawn == size - 1) index else if (drawn < index) drawn else drawn + 1
    }
}

private fun mix(word: Int): Int {
    var h = (word xor (word ushr 16)) * 0x7feb352d
    h = (h xor (h ushr 15)) * 0x846ca68bL.toInt()
    return h xor (h ushr 16)
}

/** Of inside + outside reports, up to a factor, those that support a value, and how much likelier they are. */
internal class Levels(val inside: Long, val outside: Long, val likelier: Ratio)

/** What a program draws. [levels] and [fresh], a uniform report, are of reports that are kept as a whole. */
internal abstract class Sampler(val columns: List<Column>, val levels: Levels?) {
    val length = columns.map { it.width * it.length }.sum()
    open val odds: Ratio get() = levels!!.likelier.larger()

    abstract fun draw(index: Long, next: Words): ByteArray

    open fun fresh(next: Words): ByteArray = throw IllegalStateException()
}

private class Direct(val widths: Widths) :
    Sampler(listOf(numbers("report", widths.size)), Levels(1, widths.size - 1, widths.likelier)) {
    override fun draw(index: Long, next: Words) = columns[0].bytes(widths.draw(index, next))

    override fun fresh(next: Words) = columns[0].bytes(uniform(next, widths.size))
}

private fun bitColumn(size: Long) = listOf(Column("bits", 1, ((size + 7) / 8).toInt()))

private class Bits(val size: Long, val keep: Long, val raised: Long) : Sampler(bitColumn(size), null) {
    override val odds get() = Ratio(big(keep) * rest(raised), big(raised) * rest(keep))

    override fun draw(index: Long, next: Words): ByteArray {
        val ones = drawnBits(next, raised, 8 * length).copyOf(size.toInt())
        ones[index.toInt()] = below(next, keep)
        return packed(ones)
    }
}

/** Local hashing: over a field of [m] residues, or by one of [m] seeds. */
private class Hash(val widths: Widths, val m: Long, val bySeed: Boolean) : Sampler(
    (if (bySeed) listOf(numbers("seed", m)) else listOf(numbers("multiplier", m - 1), numbers("shift", m))) +
        numbers("bucket", widths.size),
    Levels(1, widths.size - 1, widths.likelier)
) {
    /** A function as it is sent, and the bucket of a value by it. */
    private fun choose(index: Long, next: Words): Pair<ByteArray, Long> {
        if (bySeed) {
            val seed = uniform(next, m)
            val key = mix(seed.toInt() * 0x9e3779b1L.toInt() + 0x7f4a7c15)
            val hashed = mix(key xor index.toInt() * 0x85ebca77L.toInt()) ushr 16
            return Pair(columns[0].bytes(seed), hashed * widths.size shr 16)
        }
        val multiplier = uniform(next, m - 1)
        val shift = uniform(next, m)
        val cube = index * index % m * index % m
        val bucket = ((multiplier + 1) * cube + shift) % m % widths.size
        return Pair(columns[0].bytes(multiplier) + columns[1].bytes(shift), bucket)
    }

    override fun draw(index: Long, next: Words): ByteArray {
        val (function, bucket) = choose(index, next)
        return function + columns.last().bytes(widths.draw(bucket, next))
    }

    override fun fresh(next: Words): ByteArray =
        choose(0, next).first + columns.last().bytes(uniform(next, widths.size))
}

private class Subset(val size: Long, val d: Long, val include: Long) : Sampler(
    bitColumn(size), Levels(d, size - d, Ratio(big(include) * big(size - d), big(d) * rest(include)))
) {
    override fun draw(index: Long, next: Words): ByteArray {
        val included = below(next, include)
        val drawn = members(next, size - 1, if (included) d - 1 else d, 2 * d > size)
        val chosen = drawn.copyOf(size.toInt())
        chosen[drawn.size] = index < drawn.size && drawn[index.toInt()] // the last value stood there
        chosen[index.toInt()] = included
        return packed(chosen)
    }

    override fun fresh(next: Words) = packed(members(next, size, d, 2 * d > size + 1))
}

private class Hadamard(val order: Long, val agree: Long) :
    Sampler(listOf(numbers("report", order)), Levels(1, 1, Ratio(big(agree), rest(agree)))) {
    override fun draw(index: Long, next: Words): ByteArray {
        val y = uniform(next, order)
        val row = index + 1
        val agrees = java.lang.Long.bitCount(y and row) % 2 == 0
        return columns[0].bytes(if (below(next, agree) == agrees) y else y xor (row and -row))
    }

    override fun fresh(next: Words) = columns[0].bytes(uniform(next, order))
}

/** Rounds of a report that is drawn once and kept; [coin] of bits. */
internal class Permanent(val memo: Program, val keep: Long, val coin: Long?) : Sampler(memo.sampler.columns, null) {
    override val odds: Ratio
        get() {
            val inner = memo.sampler
            if (inner is Bits) {
                val whole = RANGE * RANGE
                val (high, low) = listOf(inner.keep, inner.raised).map { big(keep) * big(it) + rest(keep) * big(coin!!) }
                return Ratio(high * (whole - low), low * (whole - high))
            }
            val levels = inner.levels!!
            val (high, low) = listOf(levels.likelier.numerator, levels.likelier.denominator)
            val uniform = rest(keep) * (big(levels.inside) * high + big(levels.outside) * low)
            val (own, other) = listOf(high, low).map { big(keep) * it * big(levels.inside + levels.outside) + uniform }
            return Ratio(own, other)
        }

    override fun draw(index: Long, next: Words) = degrade(memo.sampler.draw(index, next), next)

    fun degrade(kept: ByteArray, next: Words): ByteArray {
        if (coin == null) {
            val stays = below(next, keep)
            val fresh = memo.sampler.fresh(next) // in any case, so that the words do not tell whether it stays
            return if (stays) kept else fresh
        }
        val stays = drawnBits(next, keep, 8 * kept.size)
        val coins = drawnBits(next, coin, 8 * kept.size)
        return packed(BooleanArray(memo.size.toInt()) { j ->
            if (stays[j]) kept[j / 8].toInt() shr 7 - j % 8 and 1 == 1 else coins[j]
        })
    }
}

/** A device program whose integers were read and checked. It takes an index below [size]. */
class Program internal constructor(val size: Long, internal val sampler: Sampler, internal val data: JSONObject) {
    /** The record of one report on the answer with this index. */
    fun sample(index: Long): ByteArray = sampler.draw(index, ::systemWord)

    /** The bytes of each number of a record. */
    internal fun widths(): List<Int> = sampler.columns.flatMap { column -> List(column.length) { column.width } }

    companion object {
        /** Checks a device program: its law, its columns and its odds. */
        fun read(data: Any?, place: String = "program"): Program {
            require(data is JSONObject, "malformed", place, "must be a program")
            data as JSONObject
            require(data.opt("format") == 1, "unknown_format", place, "must have the format 1")
            val e = Entries(data, place, "format", "sampler", "answer", "columns")
            val complete = reader(data.opt("sampler"), e)
            require(complete != null, "unknown_sampler", place, "must name a sampler that this client knows")
            val size = e.count("size")
            val law = complete!!(size)
            val (fraction, stated) = e.ratio("odds")
            val power = fraction.integer("power")
            val (_, most) = e.ratio("odds_at_most")
            require(data.opt("answer") == "index", "malformed", place, "must have its kind of answers")
            val strange = names(data).any { it !in e.read }
            require(!strange, "malformed", place, "must have the entries of its sampler")
            e.law(size >= 2, "must have two values or more")
            val sampler = law()
            require(same(data.opt("columns"), sampler.columns), "columns_differ", place, "must have the columns of its sampler")
            val odds = sampler.odds
            val equal = !stated.exceeds(odds) && !odds.exceeds(stated) && fraction.data.opt("between") == "any"
            require(equal && power == ONE, "odds_differ", place, "must be the odds of its integers")
            require(!stated.exceeds(most), "odds_exceed", place, "must have odds of at most odds_at_most")
            return Program(size, sampler, data)
        }

        internal fun same(value: Any?, columns: List<Column>): Boolean {
            val listed = value as? JSONArray ?: return false
            return listed.length() == columns.size && columns.indices.all { i ->
                val given = listed.opt(i) as? JSONObject
                val dtype = mapOf(1 to "|u1", 2 to "<u2", 4 to "<u4", 8 to "<u8")[columns[i].width]
                given != null && given.opt("name") == columns[i].name && given.opt("dtype") == dtype &&
                    given.opt("length") == columns[i].length
            }
        }

        /** Reads the entries of a sampler, and returns what then checks its law; null for none of ours. */
        private fun reader(name: Any?, e: Entries): ((Long) -> () -> Sampler)? = when (name) {
            "direct" -> { size ->
                val (own, other) = listOf(e.integer("own"), e.integer("other"));
                { Direct(Widths(e, size, own, other)) }
            }
            "bits" -> { size ->
                val (keep, raised) = listOf(e.integer("keep"), e.integer("raised"));
                {
                    e.law(raised < keep, "must have 1 <= raised < keep < 2^64")
                    Bits(size, e.word(keep), e.word(raised))
                }
            }
            "hash" -> { size ->
                val (buckets, family) = listOf(e.count("buckets"), e.count("family"))
                val (own, other) = listOf(e.integer("own"), e.integer("other"))
                val m = e.count(if (family == 1L) "seeds" else "prime");
                {
                    e.law(buckets in 2 until 65536, "must have 2 <= buckets < 2^16")
                    e.law(family == 1L || family == 2L, "must have the family 1 or 2")
                    val right = if (family == 1L) m in 1 until (1L shl 32) else m in size until (1L shl 27)
                    e.law(right, "must have 1 <= seeds < 2^32, or size <= prime < 2^27")
                    Hash(Widths(e, buckets, own, other), m, family == 1L)
                }
            }
            "subset" -> { size ->
                val members = e.count("members")
                val include = e.integer("include");
                {
                    e.law(members in 1 until size, "must have 1 <= members < size")
                    Subset(size, members, e.word(include))
                }
            }
            "hadamard" -> { size ->
                val order = e.count("order")
                val agree = e.integer("agree");
                {
                    val power = order > size && order and (order - 1) == 0L
                    e.law(power, "must have an order that is a power of two above size")
                    Hadamard(order, e.word(agree))
                }
            }
            "permanent" -> { size ->
                val keep = e.integer("keep")
                val data = e.get("memo")
                val coin = if (e.data.has("coin")) e.integer("coin") else null;
                {
                    val memo = read(data, "${e.place}.memo")
                    val inner = memo.sampler
                    e.law(inner !is Permanent && memo.size == size, "must have a memo of as many values that can be degraded")
                    e.law((coin != null) == (inner is Bits), "must have a coin for bits alone")
                    val speaks = inner is Bits || inner.levels!!.likelier.let { it.numerator > it.denominator }
                    e.law(speaks, "must have a memo whose reports speak for their values")
                    Permanent(memo, e.word(keep), coin?.let { e.word(it) })
                }
            }
            else -> null
        }
    }
}
