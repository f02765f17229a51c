import type { ChatMessage } from '../domain/rollout/turn';

/**
 * Estimates the maximum number of tokens of a text as a third of its UTF-8 bytes; rare texts have more. English has
 * about one token per four bytes, code and digits up to one per three, a Chinese character of three bytes about one.
 */
export const estimateText = (text: string): number => Math.ceil(Buffer.byteLength(text) / 3);

/** Estimates the tokens of a conversation. Its JSON syntax represents the tokens of the chat template. */
export const estimatePrompt = (messages: readonly ChatMessage[]): number => estimateText(JSON.stringify(messages));
