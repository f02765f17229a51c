import { z } from 'zod';

/** Schema of a list whose length is checked before its elements: zod makes an issue of each of a million wrong ones. */
export const listOf = <Element extends z.ZodType>(element: Element, maxLength: number) =>
  z.custom<unknown[]>((value) => Array.isArray(value) && value.length <= maxLength).pipe(z.array(element));
