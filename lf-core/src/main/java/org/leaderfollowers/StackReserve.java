package org.leaderfollowers;

import java.util.concurrent.ThreadLocalRandom;

/**
 * Makes sure that enough of the stack is left for the engine, before a method of its
 * public interface changes anything.
 * <p>
 * If the application has used up its stack, the engine must not be cut off in the middle:
 * {@code SocketChannel} would keep its lock for ever, and each thread that closes or
 * selects the channel later would wait for it. A request to the leader could be lost as
 * well. The overflow is therefore provoked here, where nothing has happened yet, and the
 * application receives it.
 * <p>
 * Java has no way to ask for the rest of the stack, but HotSpot checks at the entry of
 * each method that its whole frame fits. A few frames are large here. An interpreted one
 * has room for all local variables of its method, used or not. A compiled one has room
 * for the values that are kept across a call. Nearly no call keeps any, so none are
 * loaded; they are kept at times because the compiler leaves out code that never runs,
 * and its room in the frame with it. One frame takes 4 KB when compiled and 8 KB
 * otherwise.
 */
public final class StackReserve {

	/**
	 * Enough for a write to a socket. It needs 3 KB of the stack, and the encryption of a
	 * record 6 KB, interpreted or compiled by C1 (measured on JDK 17 and 25; not for C2).
	 */
	private static final int FRAMES = 2;

	/**
	 * How many calls keep the values at first. The compiler includes this only if it has
	 * run before.
	 */
	private static final int FIRST_CALLS = 2000;

	/** How many later calls keep them: one of so many, a power of two. */
	private static final int PERIOD = 4096;

	/**
	 * Zeros. The compiler does not know that they do not change during a call. With many
	 * more, the method would exceed 8,000 bytes, and HotSpot does not compile a longer
	 * one. With fewer, there would be more frames: each takes about 1 ns, but ten times
	 * as much if there are more than the processor predicts returns for, usually 16.
	 */
	private static final long[] V = new long[512];

	/**
	 * A thread that waits for a reply may lead and run handlers of other connections.
	 */
	private static final int FRAMES_TO_LEAD = 16;

	/** The calls so far, up to the first ones. Several threads may count one. */
	private static int calls;

	static {
		// Used only after the first calls. If a class cannot be initialised because the
		// stack ends, it can never be used any more.
		ThreadLocalRandom.current();
	}

	private StackReserve() {
	}

	/**
	 * Checks that the calling thread can call the engine.
	 * @throws StackOverflowError if too little of its stack is left
	 */
	static void require() {
		grow(FRAMES, keepsValues());
	}

	/**
	 * Checks that the calling thread can wait for a reply, and lead meanwhile.
	 * @throws StackOverflowError if too little of its stack is left
	 */
	static void requireToLead() {
		grow(FRAMES_TO_LEAD, keepsValues());
	}

	/**
	 * Checks that the calling thread can call a library that takes locks, such as the
	 * client of a data store: an overflow in the middle would leave a lock behind that
	 * all threads need. There is also room to wait for the result afterwards, by
	 * {@link LeaderFollowersPool#await}, a few frames deeper than here. Takes well below
	 * 1 µs. Any thread.
	 * @throws StackOverflowError if less than 64 KB of its stack are left
	 */
	public static void requireForLibrary() {
		grow(FRAMES_TO_LEAD + 1, keepsValues());
	}

	private static boolean keepsValues() {
		if (calls < FIRST_CALLS) {
			calls++;
			return true;
		}
		return (ThreadLocalRandom.current().nextInt() & (PERIOD - 1)) == 0;
	}

	private static long grow(int frames, boolean keepsValues) {
		if (!keepsValues) {
			return (frames > 1) ? grow(frames - 1, false) : 0;
		}
		// @formatter:off
		long v0 = V[0], v1 = V[1], v2 = V[2], v3 = V[3], v4 = V[4], v5 = V[5], v6 = V[6], v7 = V[7];
		long v8 = V[8], v9 = V[9], v10 = V[10], v11 = V[11], v12 = V[12], v13 = V[13], v14 = V[14], v15 = V[15];
		long v16 = V[16], v17 = V[17], v18 = V[18], v19 = V[19], v20 = V[20], v21 = V[21], v22 = V[22], v23 = V[23];
		long v24 = V[24], v25 = V[25], v26 = V[26], v27 = V[27], v28 = V[28], v29 = V[29], v30 = V[30], v31 = V[31];
		long v32 = V[32], v33 = V[33], v34 = V[34], v35 = V[35], v36 = V[36], v37 = V[37], v38 = V[38], v39 = V[39];
		long v40 = V[40], v41 = V[41], v42 = V[42], v43 = V[43], v44 = V[44], v45 = V[45], v46 = V[46], v47 = V[47];
		long v48 = V[48], v49 = V[49], v50 = V[50], v51 = V[51], v52 = V[52], v53 = V[53], v54 = V[54], v55 = V[55];
		long v56 = V[56], v57 = V[57], v58 = V[58], v59 = V[59], v60 = V[60], v61 = V[61], v62 = V[62], v63 = V[63];
		long v64 = V[64], v65 = V[65], v66 = V[66], v67 = V[67], v68 = V[68], v69 = V[69], v70 = V[70], v71 = V[71];
		long v72 = V[72], v73 = V[73], v74 = V[74], v75 = V[75], v76 = V[76], v77 = V[77], v78 = V[78], v79 = V[79];
		long v80 = V[80], v81 = V[81], v82 = V[82], v83 = V[83], v84 = V[84], v85 = V[85], v86 = V[86], v87 = V[87];
		long v88 = V[88], v89 = V[89], v90 = V[90], v91 = V[91], v92 = V[92], v93 = V[93], v94 = V[94], v95 = V[95];
		long v96 = V[96], v97 = V[97], v98 = V[98], v99 = V[99], v100 = V[100], v101 = V[101], v102 = V[102], v103 = V[103];
		long v104 = V[104], v105 = V[105], v106 = V[106], v107 = V[107], v108 = V[108], v109 = V[109], v110 = V[110], v111 = V[111];
		long v112 = V[112], v113 = V[113], v114 = V[114], v115 = V[115], v116 = V[116], v117 = V[117], v118 = V[118], v119 = V[119];
		long v120 = V[120], v121 = V[121], v122 = V[122], v123 = V[123], v124 = V[124], v125 = V[125], v126 = V[126], v127 = V[127];
		long v128 = V[128], v129 = V[129], v130 = V[130], v131 = V[131], v132 = V[132], v133 = V[133], v134 = V[134], v135 = V[135];
		long v136 = V[136], v137 = V[137], v138 = V[138], v139 = V[139], v140 = V[140], v141 = V[141], v142 = V[142], v143 = V[143];
		long v144 = V[144], v145 = V[145], v146 = V[146], v147 = V[147], v148 = V[148], v149 = V[149], v150 = V[150], v151 = V[151];
		long v152 = V[152], v153 = V[153], v154 = V[154], v155 = V[155], v156 = V[156], v157 = V[157], v158 = V[158], v159 = V[159];
		long v160 = V[160], v161 = V[161], v162 = V[162], v163 = V[163], v164 = V[164], v165 = V[165], v166 = V[166], v167 = V[167];
		long v168 = V[168], v169 = V[169], v170 = V[170], v171 = V[171], v172 = V[172], v173 = V[173], v174 = V[174], v175 = V[175];
		long v176 = V[176], v177 = V[177], v178 = V[178], v179 = V[179], v180 = V[180], v181 = V[181], v182 = V[182], v183 = V[183];
		long v184 = V[184], v185 = V[185], v186 = V[186], v187 = V[187], v188 = V[188], v189 = V[189], v190 = V[190], v191 = V[191];
		long v192 = V[192], v193 = V[193], v194 = V[194], v195 = V[195], v196 = V[196], v197 = V[197], v198 = V[198], v199 = V[199];
		long v200 = V[200], v201 = V[201], v202 = V[202], v203 = V[203], v204 = V[204], v205 = V[205], v206 = V[206], v207 = V[207];
		long v208 = V[208], v209 = V[209], v210 = V[210], v211 = V[211], v212 = V[212], v213 = V[213], v214 = V[214], v215 = V[215];
		long v216 = V[216], v217 = V[217], v218 = V[218], v219 = V[219], v220 = V[220], v221 = V[221], v222 = V[222], v223 = V[223];
		long v224 = V[224], v225 = V[225], v226 = V[226], v227 = V[227], v228 = V[228], v229 = V[229], v230 = V[230], v231 = V[231];
		long v232 = V[232], v233 = V[233], v234 = V[234], v235 = V[235], v236 = V[236], v237 = V[237], v238 = V[238], v239 = V[239];
		long v240 = V[240], v241 = V[241], v242 = V[242], v243 = V[243], v244 = V[244], v245 = V[245], v246 = V[246], v247 = V[247];
		long v248 = V[248], v249 = V[249], v250 = V[250], v251 = V[251], v252 = V[252], v253 = V[253], v254 = V[254], v255 = V[255];
		long v256 = V[256], v257 = V[257], v258 = V[258], v259 = V[259], v260 = V[260], v261 = V[261], v262 = V[262], v263 = V[263];
		long v264 = V[264], v265 = V[265], v266 = V[266], v267 = V[267], v268 = V[268], v269 = V[269], v270 = V[270], v271 = V[271];
		long v272 = V[272], v273 = V[273], v274 = V[274], v275 = V[275], v276 = V[276], v277 = V[277], v278 = V[278], v279 = V[279];
		long v280 = V[280], v281 = V[281], v282 = V[282], v283 = V[283], v284 = V[284], v285 = V[285], v286 = V[286], v287 = V[287];
		long v288 = V[288], v289 = V[289], v290 = V[290], v291 = V[291], v292 = V[292], v293 = V[293], v294 = V[294], v295 = V[295];
		long v296 = V[296], v297 = V[297], v298 = V[298], v299 = V[299], v300 = V[300], v301 = V[301], v302 = V[302], v303 = V[303];
		long v304 = V[304], v305 = V[305], v306 = V[306], v307 = V[307], v308 = V[308], v309 = V[309], v310 = V[310], v311 = V[311];
		long v312 = V[312], v313 = V[313], v314 = V[314], v315 = V[315], v316 = V[316], v317 = V[317], v318 = V[318], v319 = V[319];
		long v320 = V[320], v321 = V[321], v322 = V[322], v323 = V[323], v324 = V[324], v325 = V[325], v326 = V[326], v327 = V[327];
		long v328 = V[328], v329 = V[329], v330 = V[330], v331 = V[331], v332 = V[332], v333 = V[333], v334 = V[334], v335 = V[335];
		long v336 = V[336], v337 = V[337], v338 = V[338], v339 = V[339], v340 = V[340], v341 = V[341], v342 = V[342], v343 = V[343];
		long v344 = V[344], v345 = V[345], v346 = V[346], v347 = V[347], v348 = V[348], v349 = V[349], v350 = V[350], v351 = V[351];
		long v352 = V[352], v353 = V[353], v354 = V[354], v355 = V[355], v356 = V[356], v357 = V[357], v358 = V[358], v359 = V[359];
		long v360 = V[360], v361 = V[361], v362 = V[362], v363 = V[363], v364 = V[364], v365 = V[365], v366 = V[366], v367 = V[367];
		long v368 = V[368], v369 = V[369], v370 = V[370], v371 = V[371], v372 = V[372], v373 = V[373], v374 = V[374], v375 = V[375];
		long v376 = V[376], v377 = V[377], v378 = V[378], v379 = V[379], v380 = V[380], v381 = V[381], v382 = V[382], v383 = V[383];
		long v384 = V[384], v385 = V[385], v386 = V[386], v387 = V[387], v388 = V[388], v389 = V[389], v390 = V[390], v391 = V[391];
		long v392 = V[392], v393 = V[393], v394 = V[394], v395 = V[395], v396 = V[396], v397 = V[397], v398 = V[398], v399 = V[399];
		long v400 = V[400], v401 = V[401], v402 = V[402], v403 = V[403], v404 = V[404], v405 = V[405], v406 = V[406], v407 = V[407];
		long v408 = V[408], v409 = V[409], v410 = V[410], v411 = V[411], v412 = V[412], v413 = V[413], v414 = V[414], v415 = V[415];
		long v416 = V[416], v417 = V[417], v418 = V[418], v419 = V[419], v420 = V[420], v421 = V[421], v422 = V[422], v423 = V[423];
		long v424 = V[424], v425 = V[425], v426 = V[426], v427 = V[427], v428 = V[428], v429 = V[429], v430 = V[430], v431 = V[431];
		long v432 = V[432], v433 = V[433], v434 = V[434], v435 = V[435], v436 = V[436], v437 = V[437], v438 = V[438], v439 = V[439];
		long v440 = V[440], v441 = V[441], v442 = V[442], v443 = V[443], v444 = V[444], v445 = V[445], v446 = V[446], v447 = V[447];
		long v448 = V[448], v449 = V[449], v450 = V[450], v451 = V[451], v452 = V[452], v453 = V[453], v454 = V[454], v455 = V[455];
		long v456 = V[456], v457 = V[457], v458 = V[458], v459 = V[459], v460 = V[460], v461 = V[461], v462 = V[462], v463 = V[463];
		long v464 = V[464], v465 = V[465], v466 = V[466], v467 = V[467], v468 = V[468], v469 = V[469], v470 = V[470], v471 = V[471];
		long v472 = V[472], v473 = V[473], v474 = V[474], v475 = V[475], v476 = V[476], v477 = V[477], v478 = V[478], v479 = V[479];
		long v480 = V[480], v481 = V[481], v482 = V[482], v483 = V[483], v484 = V[484], v485 = V[485], v486 = V[486], v487 = V[487];
		long v488 = V[488], v489 = V[489], v490 = V[490], v491 = V[491], v492 = V[492], v493 = V[493], v494 = V[494], v495 = V[495];
		long v496 = V[496], v497 = V[497], v498 = V[498], v499 = V[499], v500 = V[500], v501 = V[501], v502 = V[502], v503 = V[503];
		long v504 = V[504], v505 = V[505], v506 = V[506], v507 = V[507], v508 = V[508], v509 = V[509], v510 = V[510], v511 = V[511];
		long below = (frames > 1) ? grow(frames - 1, true) : 0;
		return below ^ v0 ^ v1 ^ v2 ^ v3 ^ v4 ^ v5 ^ v6 ^ v7 ^ v8 ^ v9 ^ v10 ^ v11 ^ v12 ^ v13 ^ v14 ^ v15
				^ v16 ^ v17 ^ v18 ^ v19 ^ v20 ^ v21 ^ v22 ^ v23 ^ v24 ^ v25 ^ v26 ^ v27 ^ v28 ^ v29 ^ v30 ^ v31
				^ v32 ^ v33 ^ v34 ^ v35 ^ v36 ^ v37 ^ v38 ^ v39 ^ v40 ^ v41 ^ v42 ^ v43 ^ v44 ^ v45 ^ v46 ^ v47
				^ v48 ^ v49 ^ v50 ^ v51 ^ v52 ^ v53 ^ v54 ^ v55 ^ v56 ^ v57 ^ v58 ^ v59 ^ v60 ^ v61 ^ v62 ^ v63
				^ v64 ^ v65 ^ v66 ^ v67 ^ v68 ^ v69 ^ v70 ^ v71 ^ v72 ^ v73 ^ v74 ^ v75 ^ v76 ^ v77 ^ v78 ^ v79
				^ v80 ^ v81 ^ v82 ^ v83 ^ v84 ^ v85 ^ v86 ^ v87 ^ v88 ^ v89 ^ v90 ^ v91 ^ v92 ^ v93 ^ v94 ^ v95
				^ v96 ^ v97 ^ v98 ^ v99 ^ v100 ^ v101 ^ v102 ^ v103 ^ v104 ^ v105 ^ v106 ^ v107 ^ v108 ^ v109 ^ v110 ^ v111
				^ v112 ^ v113 ^ v114 ^ v115 ^ v116 ^ v117 ^ v118 ^ v119 ^ v120 ^ v121 ^ v122 ^ v123 ^ v124 ^ v125 ^ v126 ^ v127
				^ v128 ^ v129 ^ v130 ^ v131 ^ v132 ^ v133 ^ v134 ^ v135 ^ v136 ^ v137 ^ v138 ^ v139 ^ v140 ^ v141 ^ v142 ^ v143
				^ v144 ^ v145 ^ v146 ^ v147 ^ v148 ^ v149 ^ v150 ^ v151 ^ v152 ^ v153 ^ v154 ^ v155 ^ v156 ^ v157 ^ v158 ^ v159
				^ v160 ^ v161 ^ v162 ^ v163 ^ v164 ^ v165 ^ v166 ^ v167 ^ v168 ^ v169 ^ v170 ^ v171 ^ v172 ^ v173 ^ v174 ^ v175
				^ v176 ^ v177 ^ v178 ^ v179 ^ v180 ^ v181 ^ v182 ^ v183 ^ v184 ^ v185 ^ v186 ^ v187 ^ v188 ^ v189 ^ v190 ^ v191
				^ v192 ^ v193 ^ v194 ^ v195 ^ v196 ^ v197 ^ v198 ^ v199 ^ v200 ^ v201 ^ v202 ^ v203 ^ v204 ^ v205 ^ v206 ^ v207
				^ v208 ^ v209 ^ v210 ^ v211 ^ v212 ^ v213 ^ v214 ^ v215 ^ v216 ^ v217 ^ v218 ^ v219 ^ v220 ^ v221 ^ v222 ^ v223
				^ v224 ^ v225 ^ v226 ^ v227 ^ v228 ^ v229 ^ v230 ^ v231 ^ v232 ^ v233 ^ v234 ^ v235 ^ v236 ^ v237 ^ v238 ^ v239
				^ v240 ^ v241 ^ v242 ^ v243 ^ v244 ^ v245 ^ v246 ^ v247 ^ v248 ^ v249 ^ v250 ^ v251 ^ v252 ^ v253 ^ v254 ^ v255
				^ v256 ^ v257 ^ v258 ^ v259 ^ v260 ^ v261 ^ v262 ^ v263 ^ v264 ^ v265 ^ v266 ^ v267 ^ v268 ^ v269 ^ v270 ^ v271
				^ v272 ^ v273 ^ v274 ^ v275 ^ v276 ^ v277 ^ v278 ^ v279 ^ v280 ^ v281 ^ v282 ^ v283 ^ v284 ^ v285 ^ v286 ^ v287
				^ v288 ^ v289 ^ v290 ^ v291 ^ v292 ^ v293 ^ v294 ^ v295 ^ v296 ^ v297 ^ v298 ^ v299 ^ v300 ^ v301 ^ v302 ^ v303
				^ v304 ^ v305 ^ v306 ^ v307 ^ v308 ^ v309 ^ v310 ^ v311 ^ v312 ^ v313 ^ v314 ^ v315 ^ v316 ^ v317 ^ v318 ^ v319
				^ v320 ^ v321 ^ v322 ^ v323 ^ v324 ^ v325 ^ v326 ^ v327 ^ v328 ^ v329 ^ v330 ^ v331 ^ v332 ^ v333 ^ v334 ^ v335
				^ v336 ^ v337 ^ v338 ^ v339 ^ v340 ^ v341 ^ v342 ^ v343 ^ v344 ^ v345 ^ v346 ^ v347 ^ v348 ^ v349 ^ v350 ^ v351
				^ v352 ^ v353 ^ v354 ^ v355 ^ v356 ^ v357 ^ v358 ^ v359 ^ v360 ^ v361 ^ v362 ^ v363 ^ v364 ^ v365 ^ v366 ^ v367
				^ v368 ^ v369 ^ v370 ^ v371 ^ v372 ^ v373 ^ v374 ^ v375 ^ v376 ^ v377 ^ v378 ^ v379 ^ v380 ^ v381 ^ v382 ^ v383
				^ v384 ^ v385 ^ v386 ^ v387 ^ v388 ^ v389 ^ v390 ^ v391 ^ v392 ^ v393 ^ v394 ^ v395 ^ v396 ^ v397 ^ v398 ^ v399
				^ v400 ^ v401 ^ v402 ^ v403 ^ v404 ^ v405 ^ v406 ^ v407 ^ v408 ^ v409 ^ v410 ^ v411 ^ v412 ^ v413 ^ v414 ^ v415
				^ v416 ^ v417 ^ v418 ^ v419 ^ v420 ^ v421 ^ v422 ^ v423 ^ v424 ^ v425 ^ v426 ^ v427 ^ v428 ^ v429 ^ v430 ^ v431
				^ v432 ^ v433 ^ v434 ^ v435 ^ v436 ^ v437 ^ v438 ^ v439 ^ v440 ^ v441 ^ v442 ^ v443 ^ v444 ^ v445 ^ v446 ^ v447
				^ v448 ^ v449 ^ v450 ^ v451 ^ v452 ^ v453 ^ v454 ^ v455 ^ v456 ^ v457 ^ v458 ^ v459 ^ v460 ^ v461 ^ v462 ^ v463
				^ v464 ^ v465 ^ v466 ^ v467 ^ v468 ^ v469 ^ v470 ^ v471 ^ v472 ^ v473 ^ v474 ^ v475 ^ v476 ^ v477 ^ v478 ^ v479
				^ v480 ^ v481 ^ v482 ^ v483 ^ v484 ^ v485 ^ v486 ^ v487 ^ v488 ^ v489 ^ v490 ^ v491 ^ v492 ^ v493 ^ v494 ^ v495
				^ v496 ^ v497 ^ v498 ^ v499 ^ v500 ^ v501 ^ v502 ^ v503 ^ v504 ^ v505 ^ v506 ^ v507 ^ v508 ^ v509 ^ v510 ^ v511;
		// @formatter:on
	}

}
