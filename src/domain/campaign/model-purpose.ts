/** Roles of language models in a campaign. A spec may leave out `embedding`. */
export type ModelPurpose = 'explorer' | 'reflector' | 'abstractor' | 'judge' | 'embedding';
