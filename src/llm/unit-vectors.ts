/** Vectors of a stored answer: little-endian 32-bit floats, row by row, in base64. */
export type PackedVectors = { kind: 'vectors'; dimension: number; float32: string };

export function packVectors(vectors: readonly number[][]): PackedVectors {
  const dimension = vectors[0]?.length ?? 0;
  const bytes = Buffer.alloc(vectors.length * dimension * 4);
  vectors.forEach((vector, row) =>
    vector.forEach((value, column) => bytes.writeFloatLE(value, (row * dimension + column) * 4)),
  );
  return { kind: 'vectors', dimension, float32: bytes.toString('base64') };
}

/** Returns vectors of length 1, [texts][dimension]; a zero vector stays zero. */
export function unitVectors({ dimension, float32 }: PackedVectors): number[][] {
  const bytes = Buffer.from(float32, 'base64');
  return Array.from({ length: dimension === 0 ? 0 : bytes.length / 4 / dimension }, (_row, row) => {
    const vector = Array.from({ length: dimension }, (_column, column) =>
      bytes.readFloatLE((row * dimension + column) * 4),
    );
    const length = Math.hypot(...vector);
    return length === 0 ? vector : vector.map((value) => value / length);
  });
}
