import type { ChatMessage } from '../domain/rollout/turn';

/**
 * Tokens that a text takes at most, in all but odd cases: a third of its bytes in UTF-8. English takes about a quarter,
 * code and digits up to a third, and a Chinese character of three bytes about one token.
 */
export const estimateText = (text: string): number => Math.ceil(Buffer.byteLength(text) / 3);

/** Likewise for a conversation; its JSON stands for what a chat template adds to each message. */
export const estimatePrompt = (messages: readonly ChatMessage[]): number => estimateText(JSON.stringify(messages));
