import type { Answer } from "../types/modules/index.js";

/** Sends the answers of one person in this round, once, or those to the questions that are drawn: "sent", "later", or why they are not counted, such as "closed". */
export function send(
  answers: Readonly<Record<string, Answer>>,
  settings: {
    /** The web address of the survey. */
    collector: string;
    /** What is kept of this person, and of no other. It must outlast updates of the program. */
    folder: string;
    public?: Readonly<Record<string, string>>;
    code?: string;
  },
): Promise<string>;
