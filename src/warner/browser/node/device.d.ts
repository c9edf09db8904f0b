import type { Answer } from "../types/modules/index.js";

/** Sends the answers of one person in this round, once, or those to the questions that are drawn. "already": an earlier call has sent answers in this round, and these were not sent. */
export function send(
  answers: Readonly<Record<string, Answer>>,
  settings: {
    /** The web address of the survey. */
    collector: string;
    /** What is kept of this person, and of no other. It must outlast updates of the program. */
    folder: string;
    public?: Readonly<Record<string, string>>;
    code?: string;
    /** The SHA-256 that the survey document must have at this call. */
    digest?: string | null;
    /** Is told why no report was counted, in words and by a code such as "ECONNREFUSED", "503" or "other_study"; else the console. */
    log?: (message: string, reason: string) => void;
  },
): Promise<
  | "sent" | "already" | "unavailable" | "busy" | "not-open"
  | "closed" | "other-study" | "spent" | "not-invited" | "rejected"
>;
