package warner

import java.io.File
import java.io.IOException
import java.net.HttpURLConnection
import java.net.URL
import java.nio.channels.FileChannel
import java.nio.file.Files
import java.nio.file.StandardCopyOption
import java.nio.file.StandardOpenOption
import java.security.GeneralSecurityException
import java.security.MessageDigest
import javax.crypto.Cipher
import javax.crypto.Mac
import javax.crypto.spec.GCMParameterSpec
import javax.crypto.spec.SecretKeySpec
import org.json.JSONArray
import org.json.JSONObject
import org.json.JSONTokener

private const val IV = 12
private const val TAG = 16

/**
 * The installation of one person: what is kept until it was sent, permanent reports, and the connection.
 *
 * The address must be of HTTPS, or of this machine. The folder is of the app alone. The key has 32 bytes of the
 * operating system's random generator, and belongs in the platform's key store: it hides permanent reports in
 * copies of the folder.
 */
class Device(address: String, private val folder: File, private val key: ByteArray) {
    private val url: String

    init {
        val parsed = try {
            URL(address)
        } catch (error: IOException) {
            null
        }
        val local = parsed?.userInfo == null && parsed?.host in listOf("localhost", "127.0.0.1", "[::1]")
        require(parsed?.protocol == "https" || local, "insecure", "address", "must begin with https://")
        require(key.size == 32, "insecure", "key", "must have 32 bytes")
        url = address.trimEnd('/') + "/"
        folder.mkdirs()
    }

    /** Asks the collector for its survey. [digest] is as that of [Survey.read]. */
    fun survey(digest: String? = null): Survey {
        val connection = connection("study.json")
        if (connection.responseCode != 200) throw IOException("the collector replied ${connection.responseCode}")
        return Survey.read(connection.inputStream.use { it.readBytes() }, digest)
    }

    /**
     * Sends the answers of this person, once: they are randomised at the first call, and kept; a later call
     * sends the same bytes, whatever answers it has, until they have arrived.
     *
     * Returns "sent"; "unavailable", "busy" or "not-open", after which the caller tries again later; "spent",
     * where the code was used; "closed", "not-invited", "other-study" or "rejected".
     */
    fun send(survey: Survey, person: Person): String {
        val note = if (survey.invited) "-" + hex(survey.hashOfCode("warner note", person.code)) else ""
        val kept = File(folder, "outbox-${survey.study}$note")
        if (!kept.exists()) {
            val block = block(survey, person.code)
            survey.answers(person, block) // a mistake ends before anything is asked or kept
            survey.columns(person)
            if (survey.invited) {
                val outcome = post("spent", survey.head(person.code))
                if (outcome != "unspent") return outcome
            }
            alone {
                if (!kept.exists()) write(kept, survey.seal(person, block, memos(survey, person, block), ::systemWord))
            }
        }
        val body = kept.readBytes()
        if (body.isEmpty()) return "sent" // its bytes are no longer kept: they could show which report is of this device
        val outcome = post("reports", body)
        if (outcome == "sent") write(kept, ByteArray(0))
        return outcome
    }

    /** The questions that this person is asked: all, or those of the block that was drawn, once. */
    fun asked(survey: Survey, code: String = ""): List<Asked> = survey.asked(block(survey, code))

    /** It is drawn before anything is asked, and kept: who draws again makes the draw depend on an answer. */
    private fun block(survey: Survey, code: String): Int {
        val draws = survey.draws ?: return 0
        if (survey.invited) return survey.blockOfCode(code)
        return alone { keptBlock(survey, draws.drawn(systemWord())) }
    }

    /** The block that was drawn before under the same name; else this one, which is then kept. */
    private fun keptBlock(survey: Survey, block: Int): Int {
        val file = File(folder, "block-${survey.draw}")
        if (!file.exists()) write(file, block.toString().toByteArray())
        val kept = file.readText().toIntOrNull()
        require(kept != null && kept in survey.draws!!.blocks.indices, "memo_altered", "block", "must be one of the blocks")
        return kept!!
    }

    private fun connection(address: String) = (URL(url + address).openConnection() as HttpURLConnection).apply {
        connectTimeout = 30_000
        readTimeout = 30_000
        instanceFollowRedirects = false
        useCaches = false
    }

    /** Sends bytes once. Only the collector's own reply counts: what a portal of a network says does not. */
    private fun post(address: String, body: ByteArray): String {
        val connection = connection(address)
        val (status, text) = try {
            connection.doOutput = true
            connection.setRequestProperty("Content-Type", "application/octet-stream")
            connection.setFixedLengthStreamingMode(body.size) // which the platform does not repeat by itself
            connection.outputStream.use { it.write(body) }
            val status = connection.responseCode
            val stream = if (status < 400) connection.inputStream else connection.errorStream
            Pair(status, stream?.use { String(it.readBytes(), Charsets.UTF_8) } ?: "")
        } catch (error: IOException) {
            return "unavailable"
        }
        val said = try {
            JSONTokener(text).nextValue() as? JSONObject
        } catch (error: org.json.JSONException) {
            null
        }
        val error = said?.opt("error") as? String
        return when {
            address == "spent" && status == 200 && said?.opt("spent") == 0 -> "unspent"
            address == "spent" && status == 200 && said?.opt("spent") == 1 -> "spent"
            address == "reports" && status == 202 && said?.opt("accepted") == 1 -> "sent"
            status !in 400..499 || status == 408 || status == 429 || error == null -> "busy"
            else -> REFUSED[error] ?: "rejected"
        }
    }

    /** Does something while no other thread and no other process does it. */
    private fun <T> alone(act: () -> T): T = synchronized(LOCK) {
        val options = arrayOf(StandardOpenOption.CREATE, StandardOpenOption.WRITE)
        FileChannel.open(File(folder, "lock").toPath(), *options).use { channel ->
            channel.lock() // until the channel is closed
            act()
        }
    }

    /** A file is there with all of its bytes on disk, or not at all. */
    private fun write(file: File, content: ByteArray) {
        val temporary = File.createTempFile("new-", null, folder)
        temporary.setReadable(false, false)
        temporary.setReadable(true, true)
        FileChannel.open(temporary.toPath(), StandardOpenOption.WRITE).use {
            it.write(java.nio.ByteBuffer.wrap(content))
            it.force(true)
        }
        Files.move(temporary.toPath(), file.toPath(), StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING)
        try {
            FileChannel.open(folder.toPath(), StandardOpenOption.READ).use { it.force(true) }
        } catch (error: IOException) {
            // of a system that keeps no folder open
        }
    }

    /**
     * The permanent reports on a person's answers: those that are kept, and for other answers new ones, which
     * are kept before it returns. All of them, or none where one has no room.
     */
    private fun memos(survey: Survey, person: Person, block: Int): List<ByteArray> {
        if (survey.values == null) return emptyList()
        val same = survey.draws == null || keptBlock(survey, block) == block
        require(same, "memo_other", "code", "asks another question than that of all rounds on this device")
        val (asked, programs, indices) = Triple(survey.asked(block), survey.programs(block), survey.answers(person, block))
        asked.forEachIndexed { i, question -> memo(survey, question, programs[i], indices[i], false) }
        return asked.mapIndexed { i, question -> memo(survey, question, programs[i], indices[i], true)!! }
    }

    /**
     * The permanent report on one answer. They lie in numbered places, one for each answer that a device may
     * report on. A place holds a code of the answer that nobody can tell without the key, and the sealed
     * report. The question, and not the round, names it: the next round finds it.
     */
    private fun memo(survey: Survey, question: Asked, program: Program, index: Long, draws: Boolean): ByteArray? {
        val memo = (program.sampler as Permanent).memo
        val named = listOf(question.name, canonical(question.domain), canonical(memo.data)).joinToString("\n")
        val series = hex(sha256("warner memo question\n$named".toByteArray()))
        val code = coded("value", "$series\n$index")
        val box = SecretKeySpec(coded("box", ""), "AES")
        val bound = series.toByteArray() + code
        fun cipher(mode: Int, iv: ByteArray) = Cipher.getInstance("AES/GCM/NoPadding").apply {
            init(mode, box, GCMParameterSpec(8 * TAG, iv))
            updateAAD(bound)
        }
        for (place in 0 until minOf(survey.values!!, program.size)) {
            val file = File(folder, "memo-$series-$place")
            if (!file.exists()) {
                if (!draws) return null
                val iv = randomBytes(IV)
                write(file, code + iv + cipher(Cipher.ENCRYPT_MODE, iv).doFinal(memo.sample(index)))
            }
            val kept = file.readBytes()
            val whole = kept.size == code.size + IV + program.sampler.length + TAG
            require(whole, "memo_altered", question.name, "has a permanent report that was cut")
            if (!MessageDigest.isEqual(kept.copyOf(code.size), code)) continue
            val iv = kept.copyOfRange(code.size, code.size + IV)
            return try {
                cipher(Cipher.DECRYPT_MODE, iv).doFinal(kept, code.size + IV, kept.size - code.size - IV)
            } catch (error: GeneralSecurityException) {
                throw Refusal("memo_altered", question.name, "has a permanent report that was altered")
            }
        }
        throw Refusal("memo_full", question.name, "has as many different answers as this device may report on")
    }

    private fun coded(use: String, text: String): ByteArray = Mac.getInstance("HmacSHA256").run {
        init(SecretKeySpec(key, "HmacSHA256"))
        doFinal("warner memo $use\n$text".toByteArray())
    }

    private companion object {
        val LOCK = Any()
        val REFUSED = mapOf(
            "closed" to "closed", "not_open" to "not-open", "not_invited" to "not-invited", "other_study" to "other-study"
        )

        /** A text of JSON that does not depend on the order in which a map keeps its keys. */
        fun canonical(value: Any?): String = when (value) {
            is JSONObject -> names(value).sorted().joinToString(",", "{", "}") { "$it:${canonical(value.opt(it))}" }
            is JSONArray -> List(value.length()) { canonical(value.opt(it)) }.joinToString(",", "[", "]")
            is String -> JSONObject.quote(value)
            else -> value.toString()
        }
    }
}
