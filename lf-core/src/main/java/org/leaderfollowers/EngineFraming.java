package org.leaderfollowers;

/**
 * A framing of the engine. It never blocks, so a leader decodes with it without promoting
 * another thread.
 */
interface EngineFraming extends Framing {

}
