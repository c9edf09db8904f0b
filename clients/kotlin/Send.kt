package warner

import java.io.File
import java.io.IOException
import java.nio.file.Files
import java.nio.file.StandardOpenOption
import kotlin.system.exitProcess
import org.json.JSONException
import org.json.JSONObject
import org.json.JSONTokener

/**
 * Send the answers of one person to a collector, once:
 *
 *     java -jar send.jar [--digest HEX] [--folder FOLDER] [--for SECONDS] URL < person.json
 *
 * person.json is {"answers": {..}, "public": {..}, "code": ".."}; the last two where the survey asks for them.
 * It repeats the same bytes until they have arrived or the time is over, and prints what became of them. The
 * folder belongs to one person; whoever calls again with it sends what is kept there.
 */
fun main(arguments: Array<String>) {
    try {
        val outcome = run(arguments)
        println(outcome)
        exitProcess(if (outcome == "sent") 0 else 1)
    } catch (error: Exception) {
        System.err.println(error.message)
        exitProcess(2)
    }
}

private fun run(arguments: Array<String>): String {
    val options = hashMapOf("--folder" to "warner", "--for" to "600")
    val left = arguments.iterator()
    var url = ""
    for (argument in left) {
        if (!argument.startsWith("--")) url = argument
        else if (left.hasNext()) options[argument] = left.next()
    }
    val person = person()
    val folder = File(options["--folder"]!!)
    val device = Device(url, folder, keyOf(folder))
    val end = System.nanoTime() + options["--for"]!!.toLong() * 1_000_000_000
    var survey: Survey? = null
    var wait = 2000L
    while (true) {
        val outcome = try {
            survey = survey ?: device.survey(options["--digest"])
            device.send(survey, person)
        } catch (error: IOException) {
            if (survey != null) throw error // of a file
            "unavailable"
        }
        // Not all devices come back in one moment.
        val pause = wait * 3 / 4 + (systemWord() ushr 32) * (wait / 2) / (1L shl 32)
        val again = outcome in listOf("unavailable", "busy", "not-open")
        if (!again || System.nanoTime() + pause * 1_000_000 > end) return outcome
        Thread.sleep(pause)
        wait = minOf(2 * wait, 300_000)
    }
}

private fun person(): Person {
    val given = try {
        JSONTokener(String(System.`in`.readBytes(), Charsets.UTF_8)).nextValue() as? JSONObject
    } catch (error: JSONException) { // which could show an answer
        null
    }
    val known = given != null && names(given).all { it in listOf("answers", "public", "code") }
    val rule = "must be JSON with answers, public and code"
    require(known, "malformed", "standard input", rule)
    val (answers, public) = listOf("answers", "public").map { given!!.opt(it) ?: JSONObject() }
    val code = given!!.opt("code") ?: ""
    require(answers is JSONObject && public is JSONObject && code is String, "malformed", "standard input", rule)
    return Person(answers as JSONObject, public as JSONObject, code as String)
}

/** The key of an installation, made once. A device with a key store keeps it there instead. */
private fun keyOf(folder: File): ByteArray {
    folder.mkdirs()
    val file = File(folder, "key")
    if (!file.exists()) {
        Files.newByteChannel(file.toPath(), StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE).close()
        file.setReadable(false, false)
        file.setReadable(true, true)
        file.writeBytes(randomBytes(32))
    }
    return file.readBytes()
}
